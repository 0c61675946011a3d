// SPDX-License-Identifier: MIT

import PulseCore

extension RequestBody {
    /// A value that is equal for equal bodies; nil for a body that cannot be compared, such as a stream.
    package var comparisonValue: AnyHashable? {
        switch content {
        case .none: AnyHashable(Data?.none)
        case .data(let data): AnyHashable(data)
        case .file(let url): AnyHashable(url)
        case .json(let value): Self.comparisonValue(of: value)
        case .encoded(let encode): (try? encode()).map(AnyHashable.init)
        case .operation: callContent?.comparisonValue
        case .multipart, .stream: nil
        }
    }

    package static func comparisonValue(of value: any Encodable) -> AnyHashable? {
        if let value = value as? any Hashable { return AnyHashable(value) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(value)).map(AnyHashable.init)
    }
}
