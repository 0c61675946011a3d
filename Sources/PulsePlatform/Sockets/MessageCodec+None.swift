// SPDX-License-Identifier: MIT

#if !canImport(CPulsePlatform)
extension SystemMessageCodec {
    static let isAvailable = false
    static func deflater(windowBits: Int) -> (any MessageCodec)? { nil }
    static func inflater(windowBits: Int) -> (any MessageCodec)? { nil }
}
#endif
