// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance {
    /// The list in Markdown: a table of cases and transports for each part, and the reasons for the exclusions.
    package static func table(of transports: [TransportConformance]) -> String {
        let numbers = numbered(transports)
        let parts = [("Semantics", semantics), ("Wire", wire), ("TLS", tls)].map { title, cases in
            let lines = cases.map { promise in
                let cells = transports.map { $0.cell(for: promise, numbers) }
                return "| \(([promise.name] + cells).joined(separator: " | ")) |"
            }
            let names = (["Case"] + transports.map(\.transport)).joined(separator: " | ")
            let rule = "|---" + String(repeating: "|:---:", count: transports.count) + "|"
            return (["## \(title): \(cases.count) cases", "", "| \(names) |", rule] + lines).joined(separator: "\n")
        }
        let reasons = numbers.sorted { $0.value < $1.value }.map { "\($0.value). \($0.key)" }
        return (parts + [(["## Exclusions", ""] + reasons).joined(separator: "\n")]).joined(separator: "\n\n") + "\n"
    }

    /// Numbers the distinct reasons in table order.
    private static func numbered(_ transports: [TransportConformance]) -> [String: Int] {
        var numbers: [String: Int] = [:]
        for promise in semantics + wire + tls {
            for reason in transports.compactMap({ $0.exclusions[promise.name] }) where numbers[reason] == nil {
                numbers[reason] = numbers.count + 1
            }
        }
        return numbers
    }

    private func cell(for promise: Case, _ numbers: [String: Int]) -> String {
        if isSimulated, promise.kind != .semantics { return "" }
        guard let reason = exclusions[promise.name], let number = numbers[reason] else { return "✓" }
        return "excluded (\(number))"
    }
}
