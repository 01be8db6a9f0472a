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
	// atOnce is the maximum number of files that are transferred concurrently.
	atOnce = 4
)

// localError is an error that the destination did not cause. It is returned unchanged.
type localError struct{ error }

func (e *localError) Unwrap() error { return e.error }

// sending is the state of one call of Send.
type sending struct {
	to      *Destination
	tree    *tree
	run     *record.Run
	bucket  *bucket
	name    string // name of the run's folder in the destination
	folder  string // prefix of the names of the run's objects
	options Options

	mu       sync.Mutex
	progress Progress
	have     map[string]sums // sizes and hashes of the expected objects, by name
	read     map[string]bool // whether the object existed before and was verified, by name
	anew     int
}

// sendEverything sends all files that the destination does not have yet, verifies the objects, and
// writes the manifest.
func (s *sending) sendEverything(ctx context.Context) (sent Sent, err error) {
	there, err := s.bucket.objects(ctx, s.folder)
	if err != nil {
		return sent, err
	}
	if err := s.sameRun(ctx, there); err != nil {
		return sent, err
	}
	if err := s.removeHalf(ctx, there); err != nil {
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
	if err := s.list(ctx); err != nil {
		return sent, err
	}
	sent = Sent{
		Where: s.destination(), Files: len(s.have), Anew: s.anew, LeftOut: s.tree.leftOut,
		Unfinished: s.run.State == record.Incomplete,
	}
	for _, of := range s.have {
		sent.Bytes += uint64(of.size)
	}
	return sent, nil
}

func (s *sending) destination() string { return s.to.String() + "/" + s.name }

// sameRun returns an error if the run's folder at the destination contains a different run.
func (s *sending) sameRun(ctx context.Context, there map[string]object) error {
	if _, ok := there[runName]; !ok {
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
		return &localError{fmt.Errorf("%s contains a %s that does not belong to a run and that upload does not replace; choose another folder, or remove the file", s.destination(), runName)}
	case !other.Started.Equal(s.run.Started) || other.Name != s.run.Name:
		return &localError{fmt.Errorf("%s contains another run, which started at %s; choose another folder, or rename the run directory",
			s.destination(), other.Started.UTC().Format(time.RFC3339))}
	}
	return nil
}

// half matches the name of a temporary file that a killed upload left in a folder.
var half = regexp.MustCompile(`^(.+)\.[0-9a-f]{16}\.tmp$`)

func (s *sending) removeHalf(ctx context.Context, there map[string]object) error {
	if s.to.scheme != schemeFile {
		return nil
	}
	ours := map[string]bool{manifestName: true}
	for _, f := range s.tree.files {
		ours[f.name] = true
	}
	for name := range there {
		if m := half.FindStringSubmatch(name); m != nil && ours[m[1]] && !ours[name] {
			if err := s.bucket.remove(ctx, s.folder+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare returns the files whose objects are missing or have different contents.
func (s *sending) compare(ctx context.Context, there map[string]object) (missing []file, err error) {
	s.begin("comparing", len(s.tree.files), s.tree.files)
	var mu sync.Mutex
	err = s.forEachFile(ctx, s.tree.files, func(ctx context.Context, f file) error {
		same, err := s.isThere(ctx, f, there)
		if err == nil && !same {
			mu.Lock()
			missing = append(missing, f)
			mu.Unlock()
		}
		return err
	})
	return missing, err
}

func (s *sending) isThere(ctx context.Context, f file, there map[string]object) (bool, error) {
	o, ok := there[f.name]
	if !ok || o.size != f.info.Size() {
		s.count(int(min(f.info.Size(), 1<<30)))
		return false, nil
	}
	want, err := s.tree.sum(ctx, f, s.count)
	if err != nil {
		return false, &localError{err}
	}
	same, err := s.bucket.holds(ctx, s.folder+f.name, o, want, s.options.ReadBack)
	if err != nil || !same {
		return false, err
	}
	s.keep(f, want, true)
	return true, nil
}

// sendAll sends the given files. It sends run.json first, so that a concurrent upload of a
// different run with the same name fails early.
func (s *sending) sendAll(ctx context.Context, files []file) error {
	s.begin("sending", len(files), files)
	s.anew = len(files)
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

func (s *sending) send(ctx context.Context, f file) error {
	from, err := s.tree.open(ctx, f, s.count)
	if err != nil {
		return &localError{err}
	}
	defer from.close()
	err = s.bucket.write(ctx, s.folder+f.name, from, f.info.Size())
	if from.err != nil {
		return &localError{s.tree.cannot(f, from.err)}
	}
	if err != nil {
		return err
	}
	s.keep(f, from.sums(), false)
	return nil
}

// verify checks, after all files were sent, that all objects exist and have the expected contents.
func (s *sending) verify(ctx context.Context) error {
	s.begin("verifying", len(s.tree.files), nil)
	there, err := s.bucket.objects(ctx, s.folder)
	if err != nil {
		return err
	}
	return s.forEachFile(ctx, s.tree.files, func(ctx context.Context, f file) error {
		want := s.have[f.name]
		o, ok := there[f.name]
		if ok && o.size == want.size && s.read[f.name] {
			return nil
		}
		right, err := s.bucket.holds(ctx, s.folder+f.name, o, want, s.options.ReadBack)
		if err == nil && (!ok || !right) {
			err = s.differs(f.name)
		}
		return err
	})
}

// list writes the manifest, unless the destination already has the same one.
func (s *sending) list(ctx context.Context) error {
	contents, err := newManifest(s.name, s.run.Started, s.have, s.tree.leftOut)
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
		err = s.differs(manifestName)
	}
	return err
}

// differs returns the error for an object that differs from its file.
func (s *sending) differs(name string) error {
	return &localError{fmt.Errorf("%s/%s differs from the data that was sent; upload the run again, and check the store if the error occurs again", s.destination(), name)}
}

// forEachFile calls do for each file, with up to atOnce calls at the same time.
func (s *sending) forEachFile(ctx context.Context, files []file, do func(context.Context, file) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
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

func (s *sending) keep(f file, of sums, verified bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.have[f.name] = of
	s.read[f.name] = verified
}

// begin starts the progress of a step of the upload.
func (s *sending) begin(step string, of int, files []file) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = Progress{Step: step, Of: of}
	for _, f := range files {
		s.progress.Total += uint64(f.info.Size())
	}
	if of > 0 {
		s.reportProgress()
	}
}

// count adds n transferred bytes to the progress. done adds one completed file.
func (s *sending) count(n int) {
	s.bucket.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.progress.Bytes
	s.progress.Bytes += uint64(n)
	if before>>20 != s.progress.Bytes>>20 {
		s.reportProgress()
	}
}

func (s *sending) done() {
	s.bucket.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress.Files++
	s.reportProgress()
}

func (s *sending) reportProgress() {
	if s.options.Progress != nil {
		s.options.Progress(s.progress)
	}
}
