package text

import (
	"fmt"
	"math"
	"reflect"
)

// These are upper bounds for numbers that another machine reports. No real machine exceeds them.
// maxSeconds is larger than any uptime, because counters of seconds are sums over processors or
// queued requests.
const (
	maxCount   = 1 << 53
	maxSeconds = 1e12
)

// CheckNumbers returns an error that names the field if a number in v cannot be a measured value.
// It searches v in the same way as SanitizeFields. A number must be finite, at least -1 (which many
// counters use for "unknown"), and at most maxCount or maxSeconds. CheckNumbers ignores
// unsigned numbers, because they are IDs.
func CheckNumbers(v any) error { return checkNumbers(reflect.ValueOf(v), "") }

func checkNumbers(v reflect.Value, field string) error {
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || f < -1 || f > maxSeconds {
			return fmt.Errorf("%s is %g", field, f)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n := v.Int(); n < -1 || n > maxCount {
			return fmt.Errorf("%s is %d", field, n)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return checkNumbers(v.Elem(), field)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() && !f.Anonymous {
				continue
			}
			if err := checkNumbers(v.Field(i), f.Name); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := checkNumbers(v.Index(i), field); err != nil {
				return err
			}
		}
	case reflect.Map:
		for at := v.MapRange(); at.Next(); {
			if err := checkNumbers(at.Value(), field); err != nil {
				return err
			}
		}
	}
	return nil
}
