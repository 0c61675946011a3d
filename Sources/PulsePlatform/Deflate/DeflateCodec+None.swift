// SPDX-License-Identifier: MIT

#if !os(Linux)
extension SystemDeflate {
    package static let isAvailable = false
    package static func deflater(windowBits: Int = 15) -> (any DeflateCodec)? { nil }
    package static func inflater(windowBits: Int) -> (any DeflateCodec)? { nil }
}
#endif
