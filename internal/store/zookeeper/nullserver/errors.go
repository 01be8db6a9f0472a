package nullserver

import (
	"strings"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// scriptErrors are the codes that error=NAME may ask for.
var scriptErrors = [...]jute.Code{
	jute.SystemError, jute.MarshallingError, jute.Unimplemented, jute.OperationTimeout, jute.BadArguments,
	jute.NoNode, jute.NoAuth, jute.BadVersion, jute.NodeExists, jute.SessionExpired, jute.SessionMoved,
	jute.NotReadOnly, jute.RequestTimeout, jute.QuotaExceeded, jute.ThrottledOp,
}

// Errors lists the names that error=NAME may have: ZooKeeper's codes in lower
// case.
func Errors() (names []string) {
	for _, code := range scriptErrors {
		names = append(names, strings.ToLower(code.String()))
	}
	return names
}

// errorCode is what an error's name stands for.
func errorCode(name string) (jute.Code, bool) {
	for _, code := range scriptErrors {
		if strings.EqualFold(code.String(), name) {
			return code, true
		}
	}
	return jute.OK, false
}

// failure is the code that an action answers instead of doing the operation.
// ZooKeeper cannot cancel one request; what comes nearest is answered.
func failure(a null.Action) jute.Code {
	switch {
	case a.Kind == null.Error:
		code, _ := errorCode(a.Name)
		return code
	case a.Kind == null.Reset && a.Name == "refused":
		return jute.ThrottledOp
	case a.Kind == null.Reset:
		return jute.SystemError
	}
	return jute.OK
}
