// SPDX-License-Identifier: MIT

#if !canImport(CryptoKit) && !os(Linux)
extension SystemHashes {
    static func makeLibrary() -> (any HashLibrary)? { nil }
}
#endif
