// SPDX-License-Identifier: MIT

#if !canImport(Compression) && !canImport(CPulsePlatform)
extension SystemDeflate {
    static func systemMaker() -> MakeRawDeflate? { nil }
}
#endif
