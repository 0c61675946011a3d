// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// The outcome of a transfer. The sender's task reads it; for a streamed response the loop does, when the head arrives.
struct CurlResponse: Sendable {
    /// Nil if the first line is not a status line.
    let head: ResponseHead?
    let body: Data
    /// The content codings of the body, the one applied last first. A buffered body is already decoded; a streamed one
    /// is not.
    let codings: [ContentCoding]
    /// Whether the body continues in the request's pipe.
    let isStreamed: Bool
    let isTruncated: Bool
    let measured: CurlMeasurements
    /// The keys of the verified chain, if none is pinned and the policy only reports.
    let unpinnedKeys: [[UInt8]]?
}
#endif
