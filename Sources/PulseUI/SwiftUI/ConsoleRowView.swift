// SPDX-License-Identifier: MIT

#if canImport(SwiftUI)
import SwiftUI

/// A call in the list.
struct ConsoleRowView: View {
    let row: ConsoleRow

    var body: some View {
        VStack(alignment: .leading) {
            Text(verbatim: "\(row.method.rawValue) \(row.path)")
            Text(verbatim: row.summary).font(.caption).foregroundColor(row.outcome.color)
            Text(verbatim: row.host).font(.caption).foregroundColor(.secondary)
        }
    }
}

extension ConsoleOutcome {
    fileprivate var color: Color {
        switch self {
        case .running: .blue
        case .succeeded: .green
        case .failed: .red
        case .cancelled: .gray
        }
    }
}
#endif
