package upload

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

const (
	runName = "run.json"
	// maxManifest is the maximum size of a manifest in bytes. A manifest needs about 180 bytes for
	// each file.
	maxManifest = 128 << 20
	// maxConcurrent is the maximum number of files that are transferred concurrently.
	maxConcurrent = 4
)

// localError is an error that the destination did not cause. It is returned unchanged.
type localError struct{ error }

func (e *localError) Unwrap() error { return e.error }

// uploadState is the state of one call of Send.
type uploadState struct {
	target  *Destination
	tree    *tree
	run     *record.Run
	bucket  *bucket
	name    string // name of the run's folder in the destination
	folder  string // prefix of the names of the run's objects
	options Options

	mu         sync.Mutex
	progress   Progress
	objectSums map[string]contentSums // sizes and hashes of the expected objects, by name
	verified   map[string]bool        // whether the object existed before and was verified, by name
	newFiles   int
}

// sendEverything sends all files that the destination does not have yet, verifies the objects, and
// writes the manifest.
func (s *uploadState) sendEverything(ctx context.Context) (sent SendResult, err error) {
	there, err := s.bucket.objects(ctx, s.folder)
	if err != nil {
		return sent, err
	}
	if err := s.sameRun(ctx, there); err != nil {
		return sent, err
	}
	if err := s.removeTemporary(ctx, there); err != nil {
		return sent, err
	}
	missing, err := s.compare(ctx, there)
	if err != nil {
		return sent, err
	}
	if _, ok := there[manifestName]; ok && len(missing) > 0 {
		if err := s.bucket.remove(ctx, s.folder+manifestName); err != nil {
			return sent, err // an old manifest would make a partial upload look complete
		}
	}
	if err := s.sendAll(ctx, missing); err != nil {
		return sent, err
	}
	if err := s.verify(ctx); err != nil {
		return sent, err
	}
	if err := s.writeManifest(ctx); err != nil {
		return sent, err
	}
	sent = SendResult{
		URL: s.destination(), Files: len(s.objectSums), NewFiles: s.newFiles, OmittedEntries: s.tree.omitted,
		RunUnfinished: s.run.State == record.Incomplete,
	}
	for _, of := range s.objectSums {
		sent.Bytes += uint64(of.size)
	}
	return sent, nil
}

func (s *uploadState) destination() string { return s.target.String() + "/" + s.name }

// sameRun returns an error if the run's folder at the destination contains a different run.
func (s *uploadState) sameRun(ctx context.Context, existing map[string]object) error {
	if _, ok := existing[runName]; !ok {
		return nil // this is the first upload
	}
	b, err := s.bucket.read(ctx, s.folder+runName, record.MaxRunFile)
	if err != nil {
		return err
	}
	if b == nil {
		return nil
	}
	other, err := record.Parse(b)
	switch {
	case err != nil:
		return &localError{fmt.Errorf("%s contains a file %s that does not belong to a run; \"quorumbench upload\" does not replace this file; choose another folder, or remove the file", s.destination(), runName)}
	case !other.Started.Equal(s.run.Started) || other.Name != s.run.Name:
		return &localError{fmt.Errorf("%s contains another run, which started at %s; choose another folder, or rename the run directory",
			s.destination(), other.Started.UTC().Format(time.RFC3339))}
	}
	return nil
}

// temporaryName matches the name of a temporary file that a killed upload left in a folder.
var temporaryName = regexp.MustCompile(`^(.+)\.[0-9a-f]{16}\.tmp$`)

func (s *uploadState) removeTemporary(ctx context.Context, existing map[string]object) error {
	if s.target.scheme != schemeFile {
		return nil
	}
	ours := map[string]bool{manifestName: true}
	for _, f := range s.tree.files {
		ours[f.name] = true
	}
	for name := range existing {
		if m := temporaryName.FindStringSubmatch(name); m != nil && ours[m[1]] && !ours[name] {
			if err := s.bucket.remove(ctx, s.folder+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare returns the files whose objects are missing or have different contents.
func (s *uploadState) compare(ctx context.Context, existing map[string]object) (missing []file, err error) {
	s.begin("comparing", len(s.tree.files), s.tree.files)
	var mu sync.Mutex
	err = s.forEachFile(ctx, s.tree.files, func(ctx context.Context, f file) error {
		same, err := s.alreadySent(ctx, f, existing)
		if err == nil && !same {
			mu.Lock()
			missing = append(missing, f)
			mu.Unlock()
		}
		return err
	})
	return missing, err
}

func (s *uploadState) alreadySent(ctx context.Context, f file, existing map[string]object) (bool, error) {
	o, ok := existing[f.name]
	if !ok || o.size != f.info.Size() {
		s.count(int(min(f.info.Size(), 1<<30)))
		return false, nil
	}
	want, err := s.tree.sum(ctx, f, s.count)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err() // not a localError, because the destination may have stalled the upload
	case err != nil:
		return false, &localError{err}
	}
	same, err := s.bucket.hasContents(ctx, s.folder+f.name, o, want, s.options.ReadBack)
	if err != nil || !same {
		return false, err
	}
	s.keep(f, want, true)
	return true, nil
}

// sendAll sends the given files. It sends run.json first, so that a concurrent upload of a
// different run with the same name fails early.
func (s *uploadState) sendAll(ctx context.Context, files []file) error {
	s.begin("sending", len(files), files)
	s.newFiles = len(files)
	first := func(f file) bool { return f.name == runName }
	for _, only := range []bool{true, false} {
		var some []file
		for _, f := range files {
			if first(f) == only {
				some = append(some, f)
			}
		}
		if err := s.forEachFile(ctx, some, s.send); err != nil {
			return err
		}
	}
	return nil
}

func (s *uploadState) send(ctx context.Context, f file) error {
	from, err := s.tree.open(ctx, f, s.count)
	if err != nil {
		return &localError{err}
	}
	defer from.close()
	err = s.bucket.write(ctx, s.folder+f.name, from, f.info.Size())
	if from.err != nil {
		return &localError{s.tree.sendError(f, from.err)}
	}
	if err != nil {
		return err
	}
	s.keep(f, from.sums(), false)
	return nil
}

// verify checks, after all files were sent, that all objects exist and have the expected contents.
func (s *uploadState) verify(ctx context.Context) error {
	s.begin("verifying", len(s.tree.files), nil)
	there, err := s.bucket.objects(ctx, s.folder)
	if err != nil {
		return err
	}
	return s.forEachFile(ctx, s.tree.files, func(ctx context.Context, f file) error {
		want := s.objectSums[f.name]
		o, ok := there[f.name]
		if ok && o.size == want.size && s.verified[f.name] {
			return nil
		}
		right, err := s.bucket.hasContents(ctx, s.folder+f.name, o, want, s.options.ReadBack)
		if err == nil && (!ok || !right) {
			err = s.mismatchError(f.name)
		}
		return err
	})
}

// writeManifest writes the manifest, unless the destination already has the same one.
func (s *uploadState) writeManifest(ctx context.Context) error {
	contents, err := newManifest(s.name, s.run.Started, s.objectSums, s.tree.omitted)
	if err != nil {
		return err
	}
	key := s.folder + manifestName
	if is, err := s.bucket.read(ctx, key, maxManifest); err != nil || bytes.Equal(is, contents) {
		return err
	}
	if err := s.bucket.write(ctx, key, bytes.NewReader(contents), int64(len(contents))); err != nil {
		return err
	}
	is, err := s.bucket.read(ctx, key, maxManifest)
	if err == nil && !bytes.Equal(is, contents) {
		err = s.mismatchError(manifestName)
	}
	return err
}

// mismatchError returns the error for an object that differs from its file.
func (s *uploadState) mismatchError(name string) error {
	return &localError{fmt.Errorf("%s/%s differs from the data that was sent; upload the run again, and check the store if the error occurs again", s.destination(), name)}
}

// forEachFile calls the function do for each file, with up to maxConcurrent calls at the same time.
func (s *uploadState) forEachFile(ctx context.Context, files []file, do func(context.Context, file) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrent)
	for _, f := range files {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := do(ctx, f)
			s.done()
			return err
		})
	}
	return group.Wait()
}

func (s *uploadState) keep(f file, contents contentSums, verified bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objectSums[f.name] = contents
	s.verified[f.name] = verified
}

// begin starts the progress of a step of the upload.
func (s *uploadState) begin(step string, total int, files []file) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = Progress{Step: step, TotalFiles: total}
	for _, f := range files {
		s.progress.TotalBytes += uint64(f.info.Size())
	}
	if total > 0 {
		s.reportProgress()
	}
}

// count adds n transferred bytes to the progress. The method done adds one completed file.
func (s *uploadState) count(n int) {
	s.bucket.onTransfer()
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.progress.SentBytes
	s.progress.SentBytes += uint64(n)
	if before>>20 != s.progress.SentBytes>>20 {
		s.reportProgress()
	}
}

func (s *uploadState) done() {
	s.bucket.onTransfer()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress.Files++
	s.reportProgress()
}

func (s *uploadState) reportProgress() {
	if s.options.Progress != nil {
		s.options.Progress(s.progress)
	}
}
