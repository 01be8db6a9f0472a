package http1

// Response is a complete response. It is valid until the next Feed, provided that the caller does
// not overwrite the input of Feed.
type Response struct {
	Status int  // 200 to 599
	Late   bool // the request was canceled
	Body   []byte

	kept  []byte
	spans [MaxKeptFields]span
}

type span struct{ from, to int }

// Field returns the value of the i-th field in Config.KeepFields. The value is empty if the
// response lacks the field. If the response repeats the field, Field returns the last value.
func (r *Response) Field(i int) []byte { return r.kept[r.spans[i].from:r.spans[i].to] }

// Uint returns the value of the i-th field in Config.KeepFields as a number, or 0 if the field is
// missing or not a number.
func (r *Response) Uint(i int) uint64 { return number(r.Field(i)) }

// number parses a decimal number. It returns 0 for other text and for a number that is too large.
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
