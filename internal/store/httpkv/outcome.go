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

// OutcomeOf returns the outcome for an HTTP status that is not a success. It is used if the
// response contains no known error of the store. A status maps to a definite outcome only if it
// proves that the store did not change.
func OutcomeOf(status int) kv.Outcome {
	switch {
	case status == 401 || status == 403:
		return kv.Denied
	case status == 429: // rate limits, which servers check before they execute a request
		return kv.Refused
	case status == 408 || status == 504:
		return kv.StoreTimeout
	case status >= 300 && status < 500:
		return kv.BadRequest
	}
	return kv.StoreError
}

// MaxText limits the length of an error's text in bytes.
const MaxText = 300

// AppendText appends the text of an error response: the first line of the body or, if the body is
// empty, the HTTP status.
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

// Reason converts an error from net/http into text for users. The parameter `ctx` is the context
// of the request.
func Reason(ctx context.Context, err error) string {
	var failed *url.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return "the request was cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "no response within the time limit"
	case errors.As(err, &failed):
		return failed.Err.Error()
	}
	return err.Error()
}
