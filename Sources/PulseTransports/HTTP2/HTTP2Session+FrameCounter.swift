// SPDX-License-Identifier: MIT

#if os(Linux)
extension HTTP2Session {
    /// Counts the frames in received bytes, including those that nghttp2 silently ignores: frames of unknown types and
    /// of closed streams.
    struct FrameCounter {
        /// The number of frame headers since the last reset to 0.
        var count = 0
        /// The number of bytes received of the current frame's header (RFC 9113, section 4.1).
        private var headerCount = 0
        private var length = 0

        private static let headerSize = 9

        mutating func read(_ bytes: UnsafeRawBufferPointer) {
            var index = 0
            while index < bytes.count {
                if headerCount < Self.headerSize {
                    if headerCount < 3 { length = length << 8 | Int(bytes[index]) }
                    headerCount += 1
                    index += 1
                    if headerCount == Self.headerSize { count += 1 }
                } else {
                    let part = min(length, bytes.count - index)
                    length -= part
                    index += part
                }
                if headerCount == Self.headerSize, length == 0 { headerCount = 0 }
            }
        }
    }
}
#endif
