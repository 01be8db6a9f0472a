package upload

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

func TestExplanationsHaveNoSecrets(t *testing.T) {
	t.Setenv("AZURE_STORAGE_SAS_TOKEN", "sv=2024&sig=abcdefgh")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "swordfish")
	t.Setenv("AZURE_STORAGE_KEY", "")
	d := parse(t, "azblob://runs/a")
	for _, text := range []string{
		"PUT https://a.blob.core.windows.net/runs?sv=2024&sig=abcdefgh failed", "GET https://a/runs?x=1&sig=abcdefgh", "no swordfish",
	} {
		err := d.explain(t.Context(), errors.New(text))
		sentence(t, err, "azblob://runs/a: ")
		if strings.Contains(err.Error(), "abcdefgh") || strings.Contains(err.Error(), "swordfish") {
			t.Errorf("%s", err)
		}
	}
}

func TestExplanations(t *testing.T) {
	for _, test := range []struct {
		url  string
		err  error
		want string
	}{
		{"file:///srv", syscall.EACCES, "no permission in file:///srv"},
		{"file:///srv", syscall.EROFS, "no permission in file:///srv"},
		{"file:///srv", fmt.Errorf("x: %w", syscall.EDQUOT), "the disk of /srv is full"},
		{"azblob://runs", errors.New("azureblob: Options.AccountName is required"), "no credentials for azblob://runs: set AZURE_STORAGE_ACCOUNT"},
		{"azblob://runs", errors.New("RESPONSE 404: 404 The specified container does not exist. ERROR CODE: ContainerNotFound"), "there is no container runs"},
		{"gs://runs", noCredentials{errors.New("x")}, "no credentials for gs://runs: set GOOGLE_APPLICATION_CREDENTIALS"},
		{"gs://runs", errors.New("googleapi: Error 404: The specified bucket does not exist., notFound"), "there is no bucket runs"},
		{"s3://runs", errors.New("a\nb"), "s3://runs: a b"},
	} {
		sentence(t, parse(t, test.url).explain(t.Context(), test.err), test.want)
	}
}
