package message

import "google.golang.org/protobuf/encoding/protowire"

// Wire types of the fields in replies.
const (
	varint = byte(protowire.VarintType)
	text   = byte(protowire.BytesType) // bytes, a string or a message
)

// Tags of the fields in replies: the field's number and its wire type, in one byte. The codec, the
// passive decoder and the null server share them. Fields that none of them reads or writes are
// omitted.
const (
	HeaderTag = 1<<3 | text // header, in every response

	// ResponseHeader
	ClusterIDTag = 1<<3 | varint
	MemberIDTag  = 2<<3 | varint
	RevisionTag  = 3<<3 | varint
	TermTag      = 4<<3 | varint

	// mvccpb.KeyValue
	KeyTag            = 1<<3 | text
	CreateRevisionTag = 2<<3 | varint
	ModRevisionTag    = 3<<3 | varint
	VersionTag        = 4<<3 | varint
	ValueTag          = 5<<3 | text
	LeaseTag          = 6<<3 | varint

	// RangeResponse
	RangeKVTag    = 2<<3 | text
	RangeMoreTag  = 3<<3 | varint
	RangeCountTag = 4<<3 | varint

	StreamRangeTag = 1<<3 | text   // RangeStreamResponse.range_response
	DeletedTag     = 2<<3 | varint // DeleteRangeResponse.deleted
	GrantedTag     = 2<<3 | varint // LeaseGrantResponse.ID
	TokenTag       = 2<<3 | text   // AuthenticateResponse.token
	LockKeyTag     = 2<<3 | text   // LockResponse.key

	// TxnResponse
	TxnSucceededTag = 2<<3 | varint
	TxnResultTag    = 3<<3 | text

	// ResponseOp, the result of one operation of a transaction
	RangeResultTag  = 1<<3 | text
	PutResultTag    = 2<<3 | text
	DeleteResultTag = 3<<3 | text

	// WatchResponse
	WatchIDTag         = 2<<3 | varint
	WatchCreatedTag    = 3<<3 | varint
	WatchCanceledTag   = 4<<3 | varint
	CompactRevisionTag = 5<<3 | varint
	CancelReasonTag    = 6<<3 | text
	WatchEventTag      = 11<<3 | text

	// mvccpb.Event
	EventTypeTag     = 1<<3 | varint
	EventKVTag       = 2<<3 | text
	EventPreviousTag = 3<<3 | text

	// LeaseKeepAliveResponse
	KeptLeaseTag = 2<<3 | varint
	KeptTTLTag   = 3<<3 | varint
)
