// SPDX-License-Identifier: MIT

import PulseCore

/// The state of a feature for one client, created on first access.
package protocol ClientFeature: AnyObject, Sendable {
    init()
}

/// The features of one client, at most one of each type. Safe to use from any thread.
package final class ClientFeatures: Sendable {
    private let features = Locked<[ObjectIdentifier: any ClientFeature]>([:])

    package subscript<Feature: ClientFeature>(type: Feature.Type) -> Feature {
        features.withLock { features in
            if let known = features[ObjectIdentifier(type)] as? Feature { return known }
            let feature = Feature()
            features[ObjectIdentifier(type)] = feature
            return feature
        }
    }
}
