package httpkv

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// OutcomeOf returns the outcome of an HTTP status other than success, for
// responses without a known text of the store. Only a status that proves that the
// store did not change maps to a definite outcome.
func OutcomeOf(status int) kv.Outcome {
	switch {
	case status == 401 || status == 403:
		return kv.Denied
	case status == 429: // rate limits, applied on arrival
		return kv.Refused
	case status == 408 || status == 504:
		return kv.StoreTimeout
	case status >= 300 && status < 500:
		return kv.BadRequest
	}
	return kv.StoreError
}

// MaxText limits the text of an error in bytes.
const MaxText = 300

// AppendText appends an error response's text: its first line, or its status.
func AppendText(b []byte, r *http1.Response) []byte {
	text := bytes.TrimSpace(r.Body)
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	if len(text) == 0 {
		return strconv.AppendInt(append(b, "HTTP status "...), int64(r.Status), 10)
	}
	return append(b, text[:min(len(text), MaxText)]...)
}

// Reason returns the text of a net/http error for users; ctx is the request's
// context.
func Reason(ctx context.Context, err error) string {
	var failed *url.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return "it was cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "no response within the time limit"
	case errors.As(err, &failed):
		return failed.Err.Error()
	}
	return err.Error()
}
