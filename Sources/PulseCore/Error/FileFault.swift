// SPDX-License-Identifier: MIT

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Describes an error of Foundation's file functions or of the system, for texts. The error's own text quotes a domain
/// and a number, or the entire `userInfo`.
package struct FileFault: CustomStringConvertible {
    /// One clause, without the path.
    let cause: String
    /// The redacted path of the file that the error is about; nil if the error has none.
    private let path: String?

    /// Returns nil for any other error.
    init?(_ error: any Error) {
        let error = error as NSError
        switch error.domain {
        case NSPOSIXErrorDomain: cause = String(cString: strerror(Int32(truncatingIfNeeded: error.code)))
        case NSCocoaErrorDomain:
            guard let text = Self.texts[error.code] ?? error.filePath.map({ _ in "file error \(error.code)" }) else {
                return nil
            }
            cause = text
        default: return nil
        }
        path = error.filePath.map { Redaction.standard.text($0) }
    }

    package var description: String { path.map { "\(cause): \($0)" } ?? cause }

    /// Adds the path of the file to a POSIX or Cocoa error that has none; returns any other error unchanged.
    package static func naming(_ error: any Error, _ file: URL) -> any Error {
        let known = error as NSError
        guard [NSPOSIXErrorDomain, NSCocoaErrorDomain].contains(known.domain), known.filePath == nil else {
            return error
        }
        let info = known.userInfo.merging([NSFilePathErrorKey: file.path]) { own, _ in own }
        return NSError(domain: known.domain, code: known.code, userInfo: info)
    }

    /// By the codes of `CocoaError`.
    private static let texts: [Int: String] = [
        4: "no such file", 256: "not a file that can be read", 257: "permission denied", 259: "its length has changed",
        260: "no such file", 261: "the bytes are not text in that encoding", 512: "not a file that can be written",
        513: "permission denied", 640: "no space left on the disk",
    ]
}

extension NSError {
    fileprivate var filePath: String? {
        userInfo[NSFilePathErrorKey] as? String ?? (userInfo[NSURLErrorKey] as? URL)?.path
    }
}
