package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/upload"
)

func (a *commandLine) uploadCommand() *cobra.Command {
	readBack := false
	c := &cobra.Command{
		Use:   "upload RUN URL",
		Short: "Send a run directory, or its missing files, to an object store or another folder",
		Long: `Send a run directory, under its own name, to a folder s3://BUCKET/FOLDER,
gs://BUCKET/FOLDER or file:///FOLDER. Identical files that are already there are not sent
again, so the same command continues an interrupted upload. Every file is verified by its
size and hash. The file upload-manifest.json is written last and marks the run as complete.

Credentials are read only from the environment.`,
		Example: `  quorumbench upload runs/20261122T222014Z-quick s3://benchmarks/etcd?region=eu-central-1
  quorumbench upload runs/20261122T222014Z-quick \
      's3://benchmarks?endpoint=http://10.0.0.1:9000&region=us-east-1'
  quorumbench upload runs/20261122T222014Z-quick file:///mnt/share/runs`,
		Args: command.ArgsBetween(2, 2, "a run directory and a URL"),
	}
	command.NewFlags(c.Flags()).Toggle("read-back", &readBack, "read all files back and compare their SHA-256, instead of trusting the MD5 that the object store reports")
	c.RunE = func(c *cobra.Command, args []string) error {
		to, err := upload.Parse(args[1])
		if err != nil {
			return command.Usage("%w", err)
		}
		return a.upload(c.Context(), args[0], to, readBack)
	}
	return c
}

func (a *commandLine) upload(ctx context.Context, dir string, to *upload.Destination, readBack bool) error {
	ctx, stop := command.Interruptible(ctx, func() {})
	defer stop()
	sent, err := a.UploadRunDir(ctx, to, dir, readBack)
	switch {
	case errors.Is(err, context.Canceled):
		return &command.Exit{Code: command.ExitInterrupted, Cause: fmt.Errorf("interrupted; this command sends the rest: %s", command.RetryUploadCommand(dir, to))}
	case err != nil:
		return err
	}
	a.Printf("%s\n", command.UploadSummary(sent))
	return nil
}
