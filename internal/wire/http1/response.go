package http1

// Response is an answer. It and its bytes are valid until the next Feed, and
// while that which was fed is not reused.
type Response struct {
	Status int  // 200 to 599
	Late   bool // the request was cancelled
	Body   []byte

	kept  []byte
	spans [MaxWanted]span
}

type span struct{ from, to int }

// Field returns the value of the i-th of Config.Wanted, empty if it was not
// there. Of several fields of one name it is the last.
func (r *Response) Field(i int) []byte { return r.kept[r.spans[i].from:r.spans[i].to] }

// Uint returns the value of the i-th of Config.Wanted as a number; 0 if it is
// not there or none.
func (r *Response) Uint(i int) uint64 { return number(r.Field(i)) }

// number is a number below 2^64; 0 if it is none.
func number(text []byte) uint64 {
	n := uint64(0)
	for _, c := range text {
		if c < '0' || c > '9' || n > 1<<60 {
			return 0
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}
