// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// How a request to the server ended.
enum FetchOutcome: Sendable {
    /// The server's response, and the entry that was stored from it.
    case received(PulseResponse, stored: CachedResponse?)
    /// The stored response that the server confirmed, with its updated head; `isStored` if other calls may use it.
    case confirmed(CachedResponse, isStored: Bool)
    /// The stored parts and the rest, joined into one stream.
    case completed(PulseResponse)
    /// The server failed, and the stored response at this index may be served instead.
    case fallback(Int, CacheUse, PulseResponse)
    case failed(PulseError)

    var isCancelled: Bool {
        if case .failed(let error) = self { error.kind == .cancelled } else { false }
    }

    /// The entry that other calls may use.
    var shared: CachedResponse? {
        switch self {
        case .received(_, let stored): stored
        case .confirmed(let confirmed, let isStored): isStored ? confirmed : nil
        case .completed, .fallback, .failed: nil
        }
    }
}
