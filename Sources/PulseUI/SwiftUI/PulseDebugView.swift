// SPDX-License-Identifier: MIT

#if canImport(SwiftUI)
public import PulseObservability
public import SwiftUI

/// The network console: the recorded calls with filter, details and exports. Show it inside a `NavigationView`.
///
/// ```swift
/// .sheet(isPresented: $showsConsole) {
///     NavigationView { PulseDebugView() }
/// }
/// ```
///
/// It displays a ``ConsoleModel``. This view has not run on Apple hardware.
public struct PulseDebugView: View {
    @StateObject private var model: ConsoleModel

    /// Creates the console of a recorder, by default the shared one, which records from its first use on.
    public init(recorder: PulseRecorder = .shared) {
        _model = StateObject(wrappedValue: ConsoleModel(recorder: recorder))
    }

    /// The list of calls, below the controls that change it.
    public var body: some View {
        List {
            Section {
                NavigationLink {
                    ConsoleFilterView(model: model)
                } label: {
                    Text("Filter")
                }
                #if !os(tvOS) && !os(watchOS)  // lacks: a way to hand on a file
                NavigationLink {
                    ConsoleExportView(model: model)
                } label: {
                    Text("Export")
                }
                #endif
                Toggle("Paused", isOn: $model.isPaused)
                Button("Clear", role: .destructive) { model.clear() }
            }
            Section {
                ForEach(model.content.rows) { row in
                    NavigationLink {
                        ConsoleDetailsView(model: model, id: row.id)
                    } label: {
                        ConsoleRowView(row: row)
                    }
                }
            } header: {
                Text(verbatim: model.content.totals.summary)
            } footer: {
                VStack(alignment: .leading) {
                    ForEach(model.content.notices, id: \.self) { Text(verbatim: $0.text()) }
                }
            }
        }
        .searchable(text: $model.filter.text)
        .navigationTitle("Network calls")
        .task { await model.run() }
    }
}
#endif
