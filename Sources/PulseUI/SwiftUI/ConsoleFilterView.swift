// SPDX-License-Identifier: MIT

#if canImport(SwiftUI)
import PulseCore
import SwiftUI

/// The form that edits the filter.
struct ConsoleFilterView: View {
    @ObservedObject var model: ConsoleModel

    var body: some View {
        Form {
            Section {
                TextField("Text", text: $model.filter.text)
                Toggle("Search bodies", isOn: $model.filter.searchesBodies)
            }
            Section {
                Picker("Method", selection: $model.filter.method) {
                    Text("All").tag(HTTPMethod?.none)
                    ForEach(model.content.methods, id: \.self) { Text(verbatim: $0.rawValue).tag(Optional($0)) }
                }
                Picker("Host", selection: $model.filter.host) {
                    Text("All").tag(String?.none)
                    ForEach(model.content.hosts, id: \.self) { Text(verbatim: $0).tag(Optional($0)) }
                }
                Picker("Outcome", selection: $model.filter.outcome) {
                    Text("All").tag(ConsoleOutcome?.none)
                    ForEach(ConsoleOutcome.allCases, id: \.self) { Text(verbatim: $0.rawValue).tag(Optional($0)) }
                }
                Picker("Slower than", selection: $model.filter.slowerThan) {
                    Text("All").tag(TimeInterval?.none)
                    ForEach(model.filter.thresholds, id: \.self) {
                        Text(verbatim: ConsoleText.duration($0)).tag(Optional($0))
                    }
                }
            }
            Section {
                Button("Reset") { model.filter = ConsoleFilter() }
            } footer: {
                Text(verbatim: model.content.totals.summary)
            }
        }
        .navigationTitle("Filter")
        .task { await model.run() }
    }
}
#endif
