package command

import (
	"errors"
	"strings"
	"testing"
)

// An upload's error about an unknown authority names the variable that upload reads.
func TestUploadNamesTheVariableForAnUnknownAuthority(t *testing.T) {
	unknown := withUploadAuthority(errors.New("s3://runs: tls: failed to verify certificate: x509: certificate signed by unknown authority"))
	if !IsUnknownAuthority(unknown) || !strings.Contains(unknown.Error(), "; set AWS_CA_BUNDLE to a file ") {
		t.Errorf("the error is %q, want a remedy with AWS_CA_BUNDLE", unknown)
	}
	for _, err := range []error{nil, errors.New("it broke")} {
		if got := withUploadAuthority(err); !errors.Is(got, err) || IsUnknownAuthority(got) {
			t.Errorf("the error %v became %v, want no change", err, got)
		}
	}
}
