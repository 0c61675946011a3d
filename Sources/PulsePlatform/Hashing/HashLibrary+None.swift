// SPDX-License-Identifier: MIT

#if !canImport(CryptoKit) && !canImport(CPulsePlatform)
extension SystemHashes {
    static func makeLibrary() -> (any HashLibrary)? { nil }
}
#endif
