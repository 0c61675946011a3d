// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
/// How much of a request's body has gone, as far as it tells of activity. A pure value.
struct UploadCount: Sendable {
    private var last: Int64 = 0

    /// Whether something has moved since the last look. A body that has gone as a whole at the first look went together
    /// with the request, which is no activity of that moment.
    mutating func moves(to count: Int64, of length: Int64) -> Bool {
        defer { last = count }
        return count != last && (count < length || last > 0)
    }
}
#endif
