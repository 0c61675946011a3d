// SPDX-License-Identifier: MIT

import PulseCore

extension OTLPUpload {
    /// The source of telemetry: OpenTelemetry's resource.
    public struct Resource: Sendable {
        let attributes: [String: String]

        /// Creates a resource with a service name, and a version if there is one.
        ///
        /// - Parameter attributes: further ones with OpenTelemetry's names, such as `deployment.environment.name`.
        public init(serviceName: String, serviceVersion: String? = nil, attributes: [String: String] = [:]) {
            var all = attributes
            all["service.name"] = serviceName
            if let serviceVersion { all["service.version"] = serviceVersion }
            self.attributes = all
        }
    }
}
