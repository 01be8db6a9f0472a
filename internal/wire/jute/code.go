package jute

import "strconv"

// Code is the error code in a reply (KeeperException.Code). 0 means no error.
type Code int32

// The codes.
const (
	OK                           Code = 0
	SystemError                  Code = -1
	RuntimeInconsistency         Code = -2 // in a multi: another operation of the multi failed
	DataInconsistency            Code = -3
	ConnectionLoss               Code = -4
	MarshallingError             Code = -5
	Unimplemented                Code = -6
	OperationTimeout             Code = -7
	BadArguments                 Code = -8
	UnknownSession               Code = -12
	NewConfigNoQuorum            Code = -13
	ReconfigInProgress           Code = -14
	APIError                     Code = -100
	NoNode                       Code = -101
	NoAuth                       Code = -102
	BadVersion                   Code = -103
	NoChildrenForEphemerals      Code = -108
	NodeExists                   Code = -110
	NotEmpty                     Code = -111
	SessionExpired               Code = -112
	InvalidCallback              Code = -113
	InvalidACL                   Code = -114
	AuthFailed                   Code = -115
	SessionMoved                 Code = -118
	NotReadOnly                  Code = -119
	EphemeralOnLocalSession      Code = -120
	NoWatcher                    Code = -121
	RequestTimeout               Code = -122
	ReconfigDisabled             Code = -123
	SessionClosedRequireSASLAuth Code = -124
	QuotaExceeded                Code = -125
	ThrottledOp                  Code = -127
)

// String returns the code's name in the spelling of ZooKeeper's own clients.
func (c Code) String() string {
	switch c {
	case OK:
		return "OK"
	case SystemError:
		return "SystemError"
	case RuntimeInconsistency:
		return "RuntimeInconsistency"
	case DataInconsistency:
		return "DataInconsistency"
	case ConnectionLoss:
		return "ConnectionLoss"
	case MarshallingError:
		return "MarshallingError"
	case Unimplemented:
		return "Unimplemented"
	case OperationTimeout:
		return "OperationTimeout"
	case BadArguments:
		return "BadArguments"
	case UnknownSession:
		return "UnknownSession"
	case NewConfigNoQuorum:
		return "NewConfigNoQuorum"
	case ReconfigInProgress:
		return "ReconfigInProgress"
	}
	return c.apiName()
}

// apiName returns the name of a code that is APIError (-100) or lower.
func (c Code) apiName() string {
	switch c {
	case APIError:
		return "APIError"
	case NoNode:
		return "NoNode"
	case NoAuth:
		return "NoAuth"
	case BadVersion:
		return "BadVersion"
	case NoChildrenForEphemerals:
		return "NoChildrenForEphemerals"
	case NodeExists:
		return "NodeExists"
	case NotEmpty:
		return "NotEmpty"
	case SessionExpired:
		return "SessionExpired"
	case InvalidCallback:
		return "InvalidCallback"
	case InvalidACL:
		return "InvalidACL"
	case AuthFailed:
		return "AuthFailed"
	case SessionMoved:
		return "SessionMoved"
	case NotReadOnly:
		return "NotReadOnly"
	case EphemeralOnLocalSession:
		return "EphemeralOnLocalSession"
	case NoWatcher:
		return "NoWatcher"
	case RequestTimeout:
		return "RequestTimeout"
	case ReconfigDisabled:
		return "ReconfigDisabled"
	case SessionClosedRequireSASLAuth:
		return "SessionClosedRequireSaslAuth"
	case QuotaExceeded:
		return "QuotaExceeded"
	case ThrottledOp:
		return "ThrottledOp"
	}
	return "error " + strconv.Itoa(int(c))
}
