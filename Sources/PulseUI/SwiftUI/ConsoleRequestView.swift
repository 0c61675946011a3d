// SPDX-License-Identifier: MIT

#if canImport(SwiftUI)
import SwiftUI

/// A request and its response.
struct ConsoleRequestView: View {
    let request: ConsoleRequest

    var body: some View {
        List {
            Section {
                Text(verbatim: request.title)
                Text(verbatim: request.url).selectable()
                ConsoleFieldsView(fields: request.facts)
                CopyButton(title: "Copy as cURL", text: request.curl)
            }
            Section {
                ConsoleFieldsView(fields: request.requestHeaders)
                ConsoleBodyLink(title: "Request body", content: request.requestBody)
            } header: {
                Text("Request")
            }
            Section {
                ConsoleFieldsView(fields: request.responseHeaders)
                ConsoleBodyLink(title: "Response body", content: request.responseBody)
            } header: {
                Text("Response")
            }
        }
        .navigationTitle("Request")
    }
}

/// A row with the size of a body, which links to the text.
private struct ConsoleBodyLink: View {
    let title: String
    let content: ConsoleBody?

    var body: some View {
        if let content {
            if content.hasText {
                NavigationLink {
                    ConsoleBodyView(title: title, content: content)
                } label: {
                    Text(verbatim: "\(title): \(content.note)")
                }
            } else {
                Text(verbatim: "\(title): \(content.note)")
            }
        }
    }
}

/// The text of a body.
private struct ConsoleBodyView: View {
    let title: String
    let content: ConsoleBody

    var body: some View {
        // Computed here, so that only a visible body is indented.
        let text = content.text ?? ""
        ScrollView {
            VStack(alignment: .leading) {
                CopyButton(title: "Copy", text: text)
                Text(verbatim: text).font(.system(.footnote, design: .monospaced)).selectable()
            }
        }
        .navigationTitle(title)
    }
}
#endif
