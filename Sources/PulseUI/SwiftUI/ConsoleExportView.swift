// SPDX-License-Identifier: MIT

#if canImport(SwiftUI) && !os(tvOS) && !os(watchOS)  // lacks: a way to hand on a file
import PulseCore
import SwiftUI

#if canImport(UIKit)
import UIKit
#endif

/// The export formats. Each opens the share sheet, on macOS the panel that moves the file.
struct ConsoleExportView: View {
    @ObservedObject var model: ConsoleModel
    @State private var shownOnly = false
    @State private var file: ExportedFile?
    @State private var isMoving = false
    @State private var failure = ""

    var body: some View {
        List {
            Section {
                Toggle("Only the calls that are shown", isOn: $shownOnly)
            } footer: {
                Text("Secrets are masked by their names. One in a path, or under a neutral name, is exported.")
            }
            Section {
                ForEach(ConsoleExport.Format.allCases) { format in
                    Button(format.title) {
                        Task { await export(format) }
                    }
                }
            } footer: {
                Text(verbatim: failure)
            }
        }
        .navigationTitle("Export")
        #if canImport(UIKit)
        .sheet(item: $file) { ShareSheet(url: $0.url) }
        #endif
        #if canImport(AppKit) && !targetEnvironment(macCatalyst)
        .fileMover(isPresented: $isMoving, file: file?.url) { result in
            if case .failure(let error) = result { failure = error.localizedDescription }
        }
        #endif
    }

    private func export(_ format: ConsoleExport.Format) async {
        do {
            file = ExportedFile(url: try await model.exportFile(format, shownOnly: shownOnly))
            (isMoving, failure) = (true, "")
        } catch {
            failure = error.localizedDescription
        }
    }
}

private struct ExportedFile: Identifiable {
    let url: URL
    var id: URL { url }
}

#if canImport(UIKit)
private struct ShareSheet: UIViewControllerRepresentable {
    let url: URL

    func makeUIViewController(context: Context) -> UIActivityViewController {
        UIActivityViewController(activityItems: [url], applicationActivities: nil)
    }

    func updateUIViewController(_ controller: UIActivityViewController, context: Context) {}
}
#endif
#endif
