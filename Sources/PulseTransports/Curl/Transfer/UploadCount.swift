// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
/// How much of a request's body was sent, as a sign of activity. A pure value.
struct UploadCount: Sendable {
    private var last: Int64 = 0

    /// Whether bytes were sent since the last check. A body that is complete at the first check was sent with the
    /// request, which is no activity of that moment.
    mutating func moves(to count: Int64, of length: Int64) -> Bool {
        defer { last = count }
        return count != last && (count < length || last > 0)
    }
}
#endif
