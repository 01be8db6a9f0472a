package http1

// Response is a response. It and its bytes are valid until the next Feed, provided that the caller
// does not overwrite the input of Feed.
type Response struct {
	Status int  // 200 to 599
	Late   bool // the request was cancelled
	Body   []byte

	kept  []byte
	spans [MaxKeptFields]span
}

type span struct{ from, to int }

// Field returns the value of the i-th field of Config.KeepFields, empty if it is missing. If the
// field is repeated, the last value counts.
func (r *Response) Field(i int) []byte { return r.kept[r.spans[i].from:r.spans[i].to] }

// Uint returns the value of the i-th field of Config.KeepFields as a number; 0 if it is missing or
// not a number.
func (r *Response) Uint(i int) uint64 { return number(r.Field(i)) }

// number parses a decimal number; it returns 0 for other text and for numbers of 2^64 or more.
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
