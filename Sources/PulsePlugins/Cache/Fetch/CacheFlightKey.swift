// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The properties that calls must have in common to share one request. They expect the response in the same form and
/// under the same tag; the send time and failures must not depend on which call sends it.
struct CacheFlightKey: Hashable, Sendable {
    let key: CacheKey
    let delivery: TransportRequest.Delivery
    /// Clients that share the plugin differ in their inner plugins and transport.
    let client: ObjectIdentifier
    /// Fewer headers are sent on a hop to a foreign origin.
    let isAway: Bool
    /// Nil for a request that no other call may share.
    let options: SharedOptions?
}

extension CacheLookup {
    /// The key of a request that other calls may share; nil if they may not. Shareable calls have no conditions, ranges
    /// or directives of their own, and expect a buffered response.
    var sharedFlightKey: CacheFlightKey? {
        guard !isStreamed, rules.isPlain, rules.method != .head, rules.directives == CacheControl() else { return nil }
        switch mode {
        case .default, .cacheElseNetwork, .staleWhileRevalidate: break
        case .reload, .revalidate, .onlyIfCached, .bypass: return nil
        }
        let key = flightKey()
        return key.options == nil ? nil : key
    }

    /// - Parameter isOwn: whether no other call may share the request.
    func flightKey(isOwn: Bool = false) -> CacheFlightKey {
        CacheFlightKey(
            key: key, delivery: context.delivery, client: ObjectIdentifier(context.call.environment),
            isAway: context.builtHeaders != nil, options: isOwn ? nil : SharedOptions(of: context, cache: nil))
    }
}
