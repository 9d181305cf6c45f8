package digest

import (
	"bytes"
	"crypto/sha256"
	"testing"
)

func TestSum256(t *testing.T) {
	for n := range 300 { // lengths on both sides of a block's and of its padding's
		data := bytes.Repeat([]byte{byte(n), 0xff, 0x80}, n)[:n]
		if got, want := Sum256(data), sha256.Sum256(data); got != want {
			t.Errorf("of %d bytes: %x, want %x", n, got, want)
		}
	}
}
