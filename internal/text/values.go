package text

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3}, {"B", 1},
}

// maxSize is the largest size that ParseSize accepts: 1 PiB.
const maxSize = 1 << 50

var decimal = regexp.MustCompile(`^[0-9][0-9_]{0,17}(\.[0-9]{1,9})?$`)

// ParseSize parses a number of bytes. Examples are 256, 256B, 1KB (1,000) and 1KiB (1,024). The
// units kB, MB, MiB, GB, GiB, TB and TiB are also valid.
func ParseSize(s string) (int, error) {
	number, unit := s, int64(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	if strings.HasPrefix(number, "-") {
		return 0, fmt.Errorf("%s is negative; write a size of at least 0", s)
	}
	if !decimal.MatchString(number) {
		return 0, fmt.Errorf("%q is not a size; write a size such as 256, 1KB, 1KiB or 1MB", s)
	}
	exact, ok := new(big.Rat).SetString(strings.ReplaceAll(number, "_", ""))
	if !ok {
		return 0, fmt.Errorf("%q is not a size; write a size such as 256, 1KB, 1KiB or 1MB", s)
	}
	exact.Mul(exact, new(big.Rat).SetInt64(unit))
	if !exact.IsInt() {
		return 0, fmt.Errorf("%s is not a whole number of bytes", s)
	}
	if !exact.Num().IsInt64() || exact.Num().Int64() > min(math.MaxInt, maxSize) {
		return 0, fmt.Errorf("%s is more than %s; write a smaller size", s, FormatSize(min(math.MaxInt, maxSize)))
	}
	return int(exact.Num().Int64()), nil
}

// FormatSize formats a number of bytes exactly. ParseSize can parse the result.
func FormatSize(bytes int) string {
	for _, u := range sizeUnits {
		if n := int64(bytes); n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + " " + u.name
		}
	}
	return strconv.Itoa(bytes) + " B"
}

// ParseDuration parses a duration with its unit, such as 5s, 1m30s or 500ms.
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err == nil:
		return d, nil
	case decimal.MatchString(strings.TrimPrefix(s, "-")):
		return 0, fmt.Errorf("%s lacks a unit; write a duration such as 500ms, 5s or 1m", s)
	}
	return 0, fmt.Errorf("%q is not a duration; write a duration such as 500ms, 5s or 1m", s)
}

// ParseNumber parses a decimal number. Underscores may group the digits.
func ParseNumber(s string) (float64, error) {
	n, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%q is not a number; write a number such as 500 or 0.5", s)
	}
	return n, nil
}

// FormatNumber formats a number without an exponent, unless it is very large.
func FormatNumber(f float64) string {
	if math.Abs(f) >= 1e15 {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// FormatDuration formats a duration without trailing parts that are zero: 1h, 1m30s, 0s.
func FormatDuration(d time.Duration) string {
	s := d.String()
	for _, nothing := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, nothing) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// ErrRange is wrapped by the error that ParseInteger returns for a number that an int64 cannot
// hold.
var ErrRange = errors.New("out of range")

// ParseInteger parses a whole number. Underscores may group the digits.
func ParseInteger(s string) (int64, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is %w", s, ErrRange)
	case err != nil:
		return 0, fmt.Errorf("%q is not a whole number; write a number such as 100", s)
	}
	return n, nil
}

// ParseBool parses the value of a Boolean flag.
func ParseBool(s string) (bool, error) {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, fmt.Errorf("%q is not a Boolean value; write true or false", s)
	}
	return b, nil
}

// ParseFlagSize parses a size in the value of a flag. It accepts a negative number, because a later
// check rejects the number with the name of the flag.
func ParseFlagSize(s string) (int, error) {
	if n, err := strconv.Atoi(s); err == nil && n < 0 {
		return n, nil
	}
	return ParseSize(s)
}

// ParseShare parses a fraction above 0 and below 1, written as a percentage (2%) or as a number
// (0.02).
func ParseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	x, err := ParseNumber(strings.TrimSpace(number))
	if percent {
		x /= 100
	}
	if err != nil || !(x > 0 && x < 1) {
		return 0, fmt.Errorf("%q is not a share above 0 and below 100 %%; write a share such as 2%%", s)
	}
	return x, nil
}

// FormatShare formats a fraction as a percentage. ParseShare can parse the result.
func FormatShare(share float64) string { return strconv.FormatFloat(100*share, 'g', 15, 64) + "%" }
