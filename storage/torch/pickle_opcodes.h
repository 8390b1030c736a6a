#pragma once

namespace ckptsim::storage::torch {

// The opcodes of pickle protocol 2 that tensors in dicts need (CPython, Lib/pickletools.py).
inline constexpr char kProto = '\x80';
inline constexpr char kStop = '.';
inline constexpr char kMark = '(';
inline constexpr char kEmptyDict = '}';
inline constexpr char kSetItem = 's';
inline constexpr char kSetItems = 'u';
inline constexpr char kBinUnicode = 'X';
inline constexpr char kBinInt = 'J';
inline constexpr char kBinInt1 = 'K';
inline constexpr char kBinInt2 = 'M';
inline constexpr char kLong1 = '\x8a';
inline constexpr char kNewTrue = '\x88';
inline constexpr char kNewFalse = '\x89';
inline constexpr char kEmptyTuple = ')';
inline constexpr char kTuple = 't';
inline constexpr char kTuple1 = '\x85';
inline constexpr char kTuple2 = '\x86';
inline constexpr char kTuple3 = '\x87';
inline constexpr char kGlobal = 'c';
inline constexpr char kReduce = 'R';
inline constexpr char kBinPersId = 'Q';
inline constexpr char kBinPut = 'q';
inline constexpr char kLongBinPut = 'r';
inline constexpr char kBinGet = 'h';
inline constexpr char kLongBinGet = 'j';

}  // namespace ckptsim::storage::torch
