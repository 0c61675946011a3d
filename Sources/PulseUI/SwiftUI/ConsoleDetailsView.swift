// SPDX-License-Identifier: MIT

#if canImport(SwiftUI)
import SwiftUI

/// The details of a call, updated while the call is in progress.
struct ConsoleDetailsView: View {
    @ObservedObject var model: ConsoleModel
    let id: ConsoleRow.ID

    var body: some View {
        List {
            if let details = model.details(of: id) {
                ConsoleDetailsSections(details: details)
            } else {
                Text("This call is not recorded any more.")
            }
        }
        .navigationTitle("Call")
        .task { await model.run() }
    }
}

private struct ConsoleDetailsSections: View {
    let details: ConsoleDetails

    var body: some View {
        Section {
            ConsoleRowView(row: details.row)
            ConsoleFieldsView(fields: details.facts)
        } footer: {
            Text(verbatim: details.note ?? "")
        }
        Section {
            ForEach(details.chart.lines) { WaterfallLineView(line: $0) }
        } header: {
            Text("Waterfall")
        }
        Section {
            ForEach(details.requests) { request in
                NavigationLink {
                    ConsoleRequestView(request: request)
                } label: {
                    VStack(alignment: .leading) {
                        Text(verbatim: request.title)
                        Text(verbatim: request.url).font(.caption).foregroundColor(.secondary)
                    }
                }
            }
        } header: {
            Text("Requests")
        }
        if !details.marks.isEmpty {
            Section {
                ConsoleFieldsView(fields: details.marks)
            } header: {
                Text("Events")
            }
        }
    }
}

/// Names and values, one below the other.
struct ConsoleFieldsView: View {
    let fields: [ConsoleField]

    var body: some View {
        ForEach(fields) { field in
            VStack(alignment: .leading) {
                Text(verbatim: field.name).font(.caption).foregroundColor(.secondary)
                Text(verbatim: field.value).selectable()
            }
        }
    }
}
#endif
