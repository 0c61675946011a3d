// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// What calls must have in common to wait for one request: they want its answer in the same form and under the same
/// tag, and neither when it leaves nor its failure depends on which call sends it.
struct CacheFlightKey: Hashable, Sendable {
    /// What plugins further in and the transport act on.
    struct Terms: Hashable, Sendable {
        /// Clients that share the plugin differ in what stands behind it.
        let client: ObjectIdentifier
        /// On a hop away from home fewer headers go out.
        let isAway: Bool
        let options: SharedOptions
    }

    let key: CacheKey
    let delivery: TransportRequest.Delivery
    /// Nil for a request that no other call may wait for.
    let terms: Terms?
}

extension CacheLookup {
    /// Calls may wait for each other if they ask for nothing of their own and their answers are bytes.
    var mayBeShared: Bool {
        guard !isStreamed, rules.isPlain, rules.method != .head, rules.directives == CacheControl() else {
            return false
        }
        switch mode {
        case .default, .cacheElseNetwork, .staleWhileRevalidate: return true
        case .reload, .revalidate, .onlyIfCached: return false
        }
    }

    /// - Parameter isOwn: whether nobody else may wait for the request.
    func flightKey(isOwn: Bool = false) -> CacheFlightKey {
        let options = isOwn ? nil : SharedOptions(of: context, cache: nil)
        let terms = options.map {
            CacheFlightKey.Terms(
                client: ObjectIdentifier(context.call.environment), isAway: context.builtHeaders != nil, options: $0)
        }
        return CacheFlightKey(key: key, delivery: context.delivery, terms: terms)
    }
}
