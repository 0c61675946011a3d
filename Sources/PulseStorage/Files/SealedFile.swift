// SPDX-License-Identifier: MIT

import PulseCore

/// A small file whose content is replaced as a whole, and read only if it is whole.
///
/// The first line has the format of the content and the CRC-32 of the following bytes: `pulse-upload 2 1c291ca3`. A
/// crash or a power failure leaves the old or the new content. Methods block. They throw ``JournalFailure``.
package struct SealedFile: Sendable {
    package let path: String
    /// The name of the content and its version.
    private let format: String
    private let disk: Disk

    package init(_ path: String, format: String, using disk: Disk = .system) {
        (self.path, self.format, self.disk) = (path, format, disk)
    }

    /// The content; nil if there is no file, or if it is damaged, of another format or larger than `limit`. Throws if
    /// the file cannot be read now, before the first unlock for example: that says nothing about its content.
    package func read(limit: Int = .max) throws -> Data? {
        try SystemFile.contents(path, limit: limit, using: disk).flatMap { Self.content(of: $0, format) }
    }

    /// Replaces the content, durably. Only one writer at a time.
    ///
    /// - Parameter syncsName: false if the old content will do after a power failure.
    package func write(_ content: some Collection<UInt8>, syncsName: Bool = true) throws {
        try SystemFile.replace(path, with: Self.sealed(content, format), syncsName: syncsName, using: disk)
    }

    /// Removes the file, and what an interrupted write has left. The name may come back after a power failure.
    package func remove() {
        for path in [path, SystemFile.next(path)] { _ = unlink(path) }
    }

    /// The bytes of a file with that content.
    package static func sealed(_ content: some Collection<UInt8>, _ format: String) -> [UInt8] {
        let content = Array(content)
        let checksum = content.withUnsafeBytes { String(Checksum.of($0), radix: 16) }
        return Array("\(format) \(checksum)\n".utf8) + content
    }

    /// The content of a file with those bytes; nil unless they are exactly what ``sealed(_:_:)`` returns for it.
    package static func content(of bytes: some Collection<UInt8>, _ format: String) -> Data? {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let content = bytes[bytes.index(after: end)...]
        return sealed(content, format).elementsEqual(bytes) ? Data(content) : nil
    }
}
