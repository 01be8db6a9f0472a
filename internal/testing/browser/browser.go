// Package browser drives a real headless Chromium in tests.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	browserlog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Browser is a headless Chromium with one page.
type Browser struct {
	T   *testing.T
	Ctx context.Context

	mu            sync.Mutex
	browserErrors []string // errors that the browser reported
	requests      []string // all requests, including those for pages
}

// limit is the time limit for everything that a test does with a browser.
const limit = 2 * time.Minute

// Open starts a browser with a window of 1200×900 pixels and opens a page. It skips the test if
// Chromium is not installed. The browser is closed at the end of the test.
func Open(t *testing.T, url string) *Browser {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("Chromium is not installed; run make browser, or install the Debian package chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium))
	if os.Geteuid() == 0 { // Chromium refuses its sandbox as root
		options = append(options, chromedp.NoSandbox)
	}
	limited, stop := context.WithTimeout(context.Background(), limit)
	t.Cleanup(stop)
	allocator, end := chromedp.NewExecAllocator(limited, options...)
	t.Cleanup(end)
	ctx, closed := chromedp.NewContext(allocator)
	t.Cleanup(closed)
	b := &Browser{T: t, Ctx: ctx}
	b.check(chromedp.Listen(ctx, b.handleEvent))
	b.Do(chromedp.EmulateViewport(1200, 900), chromedp.Navigate(url))
	return b
}

func (b *Browser) check(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

func (b *Browser) handleEvent(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.browserErrors = append(b.browserErrors, fmt.Sprintf("%+v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		b.browserErrors = append(b.browserErrors, fmt.Sprintf("the page called console.%s", e.Type))
	case *browserlog.EventEntryAdded:
		b.browserErrors = append(b.browserErrors, e.Entry.Text)
	}
}

// Do runs actions.
func (b *Browser) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	b.check(chromedp.Do(b.Ctx, steps...))
}

// Click clicks an element.
func (b *Browser) Click(selector string) {
	b.T.Helper()
	b.Do(chromedp.Click(chromedp.CSS(selector)))
}

// Value evaluates a JavaScript expression in the page and returns its value.
func Value[V any](b *Browser, format string, args ...any) V {
	b.T.Helper()
	v, err := chromedp.Run(b.Ctx, chromedp.Evaluate[V](fmt.Sprintf(format, args...)))
	b.check(err)
	return v
}

// Text returns the text of an element.
func (b *Browser) Text(selector string) string {
	b.T.Helper()
	return Value[string](b, "document.querySelector(%q).textContent", selector)
}

// WaitFor waits until an expression in the page is true. The browser may load another page in the
// meantime.
func (b *Browser) WaitFor(format string, args ...any) {
	b.T.Helper()
	expression := fmt.Sprintf(format, args...)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		// While the browser loads a page, the expression can fail. A later attempt evaluates the
		// expression in the new page.
		done, err := chromedp.Run(b.Ctx, chromedp.Evaluate[bool](`Boolean(`+expression+`)`))
		if err == nil && done {
			return
		}
		select {
		case <-ticker.C:
		case <-b.Ctx.Done():
			b.T.Fatalf("waiting for %s: %v", expression, b.Ctx.Err())
		}
	}
}

// CheckErrors fails the test if the browser reported an error, or wrote to its console.
func (b *Browser) CheckErrors() {
	b.T.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.browserErrors {
		b.T.Errorf("the browser reported: %s", w)
	}
}

// CheckRequests fails the test if the browser sent a request to a URL that does not begin with the
// given prefix. It returns the number of requests.
func (b *Browser) CheckRequests(prefix string) (count int) {
	b.T.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if !strings.HasPrefix(r, prefix) && !strings.HasPrefix(r, "data:") { // a data: URL needs no server
			b.T.Errorf("the browser sent a request to %s", r)
		}
	}
	return len(b.requests)
}
