//go:build !linux && !darwin

package golden

// peerPID: x/sys gives the peer's user here, not its process.
func peerPID(int) (pid int, known bool) { return 0, false }
