// SPDX-License-Identifier: MIT

import PulseCore

#if DEBUG
/// Warns in debug builds about stored properties that look like protocol requirements but are not, and about literal
/// paths that would be sent differently as a `String`. It emits one event per client and type or path, and logs one
/// line per type or path: to the unified log on Apple platforms, to standard error elsewhere.
package struct EndpointCheck: Sendable {
    private struct Findings {
        var ofTypes: [ObjectIdentifier: [MistypedRequirement]] = [:]
        var ofPaths: Set<String> = []
    }

    private static let findings = Locked(Findings())

    private let environment: CallEnvironment
    private let log: @Sendable (String) -> Void

    init(
        _ environment: CallEnvironment,
        log: @escaping @Sendable (String) -> Void = { LevelLogger.systemLog($0, .warning) }
    ) {
        self.environment = environment
        self.log = log
    }

    func check<E: Endpoint>(_ endpoint: E) {
        warn(of: E.self) { endpoint.mistypedRequirements }
        if let warning = (endpoint as? any LiteralPathCarrying)?.pathWarning { warn(ofPath: warning) }
    }

    func check(_ plugin: some PulsePlugin) {
        warn(of: type(of: plugin)) { plugin.mistypedRequirements }
    }

    private func warn(ofPath warning: String) {
        if Self.findings.withLock({ $0.ofPaths.insert(warning).inserted }) { log(warning) }
        environment.warnOnce(warning)
    }

    package func warn(of type: Any.Type, find: () -> [MistypedRequirement]) {
        let key = ObjectIdentifier(type)
        let members: [MistypedRequirement]
        if let known = Self.findings.withLock({ $0.ofTypes[key] }) {
            members = known
        } else {
            // Runs outside the lock: it reads the endpoint's properties.
            members = find()
            let isFirst = Self.findings.withLock { findings in
                defer { findings.ofTypes[key] = members }
                return findings.ofTypes[key] == nil
            }
            if isFirst { members.forEach { log($0.warning) } }
        }
        for member in members { environment.warnOnce(member.warning) }
    }
}
#endif
