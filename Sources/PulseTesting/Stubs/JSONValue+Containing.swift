// SPDX-License-Identifier: MIT

import PulseCore

extension JSONValue {
    /// The reason why this value does not contain another, such as "has no user.name"; nil if it does. It names keys of
    /// `part` and shows no value.
    func lacks(_ part: JSONValue) -> String? {
        lacks(part, at: "")
    }

    private func lacks(_ part: JSONValue, at path: String) -> String? {
        switch (self, part) {
        case (.object(let members), .object(let wanted)):
            for (key, value) in wanted.sorted(by: { $0.key < $1.key }) {
                let path = path.isEmpty ? key : "\(path).\(key)"
                guard let member = members[key] else { return "has no \(path)" }
                if let reason = member.lacks(value, at: path) { return reason }
            }
            return nil
        case (.array(let elements), .array(let wanted)):
            let missing = wanted.firstIndex { value in !elements.contains { $0.lacks(value, at: "") == nil } }
            return missing.map {
                "has no element in \(path.isEmpty ? "its array" : path) that contains the wanted [\($0)]"
            }
        default:
            return self == part ? nil : "has another value\(path.isEmpty ? "" : " at \(path)")"
        }
    }
}
