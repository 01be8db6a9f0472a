package nullserver

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// TestClientMistakes checks that each violation of the protocol ends the connection with the
// error code that the RFC requires.
func TestClientMistakes(t *testing.T) {
	frame := func(length int, typ, flags byte, stream uint32, payload ...byte) []byte {
		return append(h2.AppendFrameHeader(nil, length, typ, flags, stream), payload...)
	}
	for name, c := range map[string]struct {
		frame []byte
		code  byte
	}{
		"too large":            {frame(1<<14+1, h2.FrameData, 0, 1), h2.ErrCodeFrameSize},
		"data on stream 0":     {frame(0, h2.FrameData, 0, 0), h2.ErrCodeProtocol},
		"data on idle stream":  {frame(0, h2.FrameData, 0, 7), h2.ErrCodeProtocol},
		"even stream":          {frame(0, h2.FrameHeaders, h2.FlagEndHeaders, 2), h2.ErrCodeProtocol},
		"all padding":          {frame(1, h2.FrameHeaders, h2.FlagEndHeaders|h2.FlagPadded, 1, 1), h2.ErrCodeProtocol},
		"no priority":          {frame(1, h2.FrameHeaders, h2.FlagEndHeaders|h2.FlagPriority, 1, 1), h2.ErrCodeFrameSize},
		"bad block":            {frame(1, h2.FrameHeaders, h2.FlagEndHeaders, 1, 0xff), h2.ErrCodeCompression},
		"nothing to continue":  {frame(0, h2.FrameContinuation, h2.FlagEndHeaders, 1), h2.ErrCodeProtocol},
		"interrupted block":    {append(frame(0, h2.FrameHeaders, 0, 1), frame(8, h2.FramePing, 0, 0, make([]byte, 8)...)...), h2.ErrCodeProtocol},
		"short ping":           {frame(1, h2.FramePing, 0, 0, 1), h2.ErrCodeFrameSize},
		"short reset":          {frame(1, h2.FrameRSTStream, 0, 1, 1), h2.ErrCodeFrameSize},
		"reset of idle stream": {h2.AppendRSTStream(nil, 1, 0), h2.ErrCodeProtocol},
		"cut settings":         {frame(1, h2.FrameSettings, 0, 0, 1), h2.ErrCodeFrameSize},
		"settings on stream":   {frame(0, h2.FrameSettings, 0, 1), h2.ErrCodeProtocol},
		"bad initial window":   {h2.AppendSettings(nil, h2.Setting{ID: h2.SettingInitialWindowSize, Value: 1 << 31}), h2.ErrCodeFlowControl},
		"bad frame size":       {h2.AppendSettings(nil, h2.Setting{ID: h2.SettingMaxFrameSize, Value: 1}), h2.ErrCodeProtocol},
		"short update":         {frame(1, h2.FrameWindowUpdate, 0, 0, 1), h2.ErrCodeFrameSize},
		"empty update":         {h2.AppendWindowUpdate(nil, 0, 0), h2.ErrCodeProtocol},
		"overflow":             {h2.AppendWindowUpdate(nil, 0, h2.MaxWindow), h2.ErrCodeFlowControl},
		"update of idle":       {h2.AppendWindowUpdate(nil, 1, 1), h2.ErrCodeProtocol},
		"push":                 {frame(0, h2.FramePushPromise, 0, 1), h2.ErrCodeProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			client := dialNarrow(t, start(t, 1, store.NullOptions{Memory: true}, nil)[0])
			client.out = append(client.out, c.frame...)
			client.flush()
			client.goAway(c.code)
			client.rest()
		})
	}
}
