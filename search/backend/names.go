package backend

// Spread makes numbers that count something as evenly spread as random ones, so that those of two sources do not meet. It is the finaliser of splitmix64: different
// numbers stay different, and 0 stays 0.
func Spread(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
