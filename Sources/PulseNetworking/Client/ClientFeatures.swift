// SPDX-License-Identifier: MIT

import PulseCore

/// What a feature keeps for each client, made when it is first asked for.
protocol ClientFeature: AnyObject, Sendable {
    init()
}

/// The features of one client, each once. Safe from any thread.
final class ClientFeatures: Sendable {
    private let features = Locked<[ObjectIdentifier: any ClientFeature]>([:])

    subscript<Feature: ClientFeature>(type: Feature.Type) -> Feature {
        features.withLock { features in
            if let known = features[ObjectIdentifier(type)] as? Feature { return known }
            let feature = Feature()
            features[ObjectIdentifier(type)] = feature
            return feature
        }
    }
}
