// Package digest is SHA-256 (FIPS 180-4), for the names of files and for telling
// whether a file has changed.
//
// It stands in for crypto/sha256, which is 0.1 MB of the binary, and with which a
// build without assembler ends before main, and with exit code 2, wherever
// GODEBUG=fips140=on is set. Contract: it guards no secret, and its time may
// depend on what it reads.
package digest

import (
	"encoding/binary"
	"math/bits"
)

// Size is the length of a digest, in bytes.
const Size = 32

// Sum256 gives the SHA-256 of data.
func Sum256(data []byte) (sum [Size]byte) {
	h := [8]uint32{
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	}
	// A one bit ends what is left, and its length in bits ends the last block.
	whole := len(data) &^ 63
	rest := append(make([]byte, 0, 128), data[whole:]...)
	rest = append(rest, 0x80)
	for len(rest)%64 != 56 {
		rest = append(rest, 0)
	}
	rest = binary.BigEndian.AppendUint64(rest, uint64(len(data))*8)
	for b := data[:whole]; len(b) > 0; b = b[64:] {
		block(&h, b)
	}
	for ; len(rest) > 0; rest = rest[64:] {
		block(&h, rest)
	}
	for i, w := range h {
		binary.BigEndian.PutUint32(sum[4*i:], w)
	}
	return sum
}

func block(h *[8]uint32, p []byte) {
	var w [64]uint32
	for i := range 16 {
		w[i] = binary.BigEndian.Uint32(p[4*i:])
	}
	for i := 16; i < 64; i++ {
		a, b := w[i-15], w[i-2]
		w[i] = w[i-16] + w[i-7] +
			(bits.RotateLeft32(a, -7) ^ bits.RotateLeft32(a, -18) ^ a>>3) +
			(bits.RotateLeft32(b, -17) ^ bits.RotateLeft32(b, -19) ^ b>>10)
	}
	// Variables, because an array would stay in memory.
	s0, s1, s2, s3, s4, s5, s6, s7 := h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
	for i := range 64 {
		t1 := s7 + (bits.RotateLeft32(s4, -6) ^ bits.RotateLeft32(s4, -11) ^ bits.RotateLeft32(s4, -25)) +
			(s4&s5 ^ ^s4&s6) + k[i] + w[i]
		t2 := (bits.RotateLeft32(s0, -2) ^ bits.RotateLeft32(s0, -13) ^ bits.RotateLeft32(s0, -22)) +
			(s0&s1 ^ s0&s2 ^ s1&s2)
		s0, s1, s2, s3, s4, s5, s6, s7 = t1+t2, s0, s1, s2, s3+t1, s4, s5, s6
	}
	for i, s := range [8]uint32{s0, s1, s2, s3, s4, s5, s6, s7} {
		h[i] += s
	}
}

// k is the fractional parts of the cube roots of the first 64 primes.
var k = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}
