// SPDX-License-Identifier: MIT

import PulseCore

/// Who sends telemetry: OpenTelemetry's resource.
public struct TelemetryResource: Sendable {
    let attributes: [String: String]

    /// - Parameter attributes: further ones by OpenTelemetry's names, `deployment.environment.name` for one.
    public init(serviceName: String, serviceVersion: String? = nil, attributes: [String: String] = [:]) {
        var all = attributes
        all["service.name"] = serviceName
        if let serviceVersion { all["service.version"] = serviceVersion }
        self.attributes = all
    }
}
