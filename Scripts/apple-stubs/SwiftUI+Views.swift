// SPDX-License-Identifier: MIT

// Views and modifiers; see SwiftUI.swift.
public import Foundation
public import UIKit

#if canImport(AppKit)
public import AppKit
#endif

// MARK: Texts and layout

public struct Text: View, Rendered, Sendable {
    public typealias Body = Never
    let content: String
    nonisolated public init<S>(_ content: S) where S: StringProtocol { self.content = String(content) }
    nonisolated public init(verbatim content: String) { self.content = content }
    func render(_ renderer: Renderer) { renderer.add(line: content) }
}

// iOS 14.
public struct ProgressView<Label, CurrentValueLabel>: View, Rendered where Label: View, CurrentValueLabel: View {
    public typealias Body = Never
    func render(_ renderer: Renderer) { renderer.add(line: "…") }
}

extension ProgressView where CurrentValueLabel == EmptyView {
    nonisolated public init() where Label == EmptyView {}
}

public struct Rectangle: View, Rendered {
    public typealias Body = Never
    nonisolated public init() {}
    func render(_ renderer: Renderer) { renderer.add(line: "▬") }
}

public struct VStack<Content: View>: View {
    nonisolated(unsafe) private let content: Content
    nonisolated public init(@ViewBuilder content: () -> Content) { self.content = content() }
    nonisolated public init(alignment: HorizontalAlignment, @ViewBuilder content: () -> Content) {
        self.content = content()
    }
    public var body: Content { content }
}

public struct ZStack<Content: View>: View {
    nonisolated(unsafe) private let content: Content
    nonisolated public init(alignment: Alignment = .center, @ViewBuilder content: () -> Content) {
        self.content = content()
    }
    public var body: Content { content }
}

// Reduced: the axes and the indicators.
public struct ScrollView<Content: View>: View {
    nonisolated(unsafe) private let content: Content
    nonisolated public init(@ViewBuilder content: () -> Content) { self.content = content() }
    public var body: Content { content }
}

public struct NavigationView<Content: View>: View {
    nonisolated(unsafe) private let content: Content
    nonisolated public init(@ViewBuilder content: () -> Content) { self.content = content() }
    public var body: Content { content }
}

public struct GeometryProxy {
    public var size: CGSize { CGSize(width: 100, height: 6) }
}

public struct GeometryReader<Content: View>: View {
    nonisolated(unsafe) private let content: (GeometryProxy) -> Content
    nonisolated public init(@ViewBuilder content: @escaping (GeometryProxy) -> Content) { self.content = content }
    public var body: Content { content(GeometryProxy()) }
}

// MARK: Lists

public struct List<SelectionValue, Content>: View, Rendered where SelectionValue: Hashable, Content: View {
    public typealias Body = Never
    nonisolated(unsafe) let content: Content
    func render(_ renderer: Renderer) { renderer.list { renderer.add(content, "list") } }
}

extension List where SelectionValue == Never {
    nonisolated public init(@ViewBuilder content: () -> Content) { self.content = content() }
}

public struct Form<Content: View>: View {
    nonisolated(unsafe) private let content: Content
    nonisolated public init(@ViewBuilder content: () -> Content) { self.content = content() }
    public var body: Content { content }
}

public struct Section<Parent, Content, Footer> {
    nonisolated(unsafe) let header: Parent
    nonisolated(unsafe) let content: Content
    nonisolated(unsafe) let footer: Footer
}

extension Section: View, Rendered where Parent: View, Content: View, Footer: View {
    public typealias Body = Never

    func render(_ renderer: Renderer) {
        renderer.add(header, "header")
        renderer.add(content, "content")
        renderer.add(footer, "footer")
    }
}

// The trailing closures for header and footer are of iOS 15, macOS 12, tvOS 15, watchOS 8.
extension Section where Parent: View, Content: View, Footer: View {
    nonisolated public init(
        @ViewBuilder content: () -> Content, @ViewBuilder header: () -> Parent, @ViewBuilder footer: () -> Footer
    ) {
        (self.header, self.content, self.footer) = (header(), content(), footer())
    }
}

extension Section where Parent == EmptyView, Content: View, Footer: View {
    nonisolated public init(@ViewBuilder content: () -> Content, @ViewBuilder footer: () -> Footer) {
        self.init(content: content, header: { EmptyView() }, footer: footer)
    }
}

extension Section where Parent: View, Content: View, Footer == EmptyView {
    nonisolated public init(@ViewBuilder content: () -> Content, @ViewBuilder header: () -> Parent) {
        self.init(content: content, header: header, footer: { EmptyView() })
    }
}

extension Section where Parent == EmptyView, Content: View, Footer == EmptyView {
    nonisolated public init(@ViewBuilder content: () -> Content) {
        self.init(content: content, header: { EmptyView() }, footer: { EmptyView() })
    }
}

public struct ForEach<Data, ID, Content> where Data: RandomAccessCollection, ID: Hashable {
    nonisolated(unsafe) let data: Data
    nonisolated(unsafe) let id: (Data.Element) -> ID
    nonisolated(unsafe) let content: (Data.Element) -> Content
}

extension ForEach: View, Rendered where Content: View {
    public typealias Body = Never

    func render(_ renderer: Renderer) {
        for element in data { renderer.add(content(element), "\(id(element))") }
    }
}

extension ForEach where ID == Data.Element.ID, Content: View, Data.Element: Identifiable {
    nonisolated public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content) {
        (self.data, id, self.content) = (data, { $0.id }, content)
    }
}

extension ForEach where Content: View {
    nonisolated public init(
        _ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content
    ) {
        (self.data, self.id, self.content) = (data, { $0[keyPath: id] }, content)
    }
}

// MARK: Controls

public struct Button<Label>: View, Rendered where Label: View {
    public typealias Body = Never
    let label: Text
    nonisolated(unsafe) let action: @MainActor () -> Void

    func render(_ renderer: Renderer) {
        renderer.add(.button(action), label.content)
        renderer.add(line: "[\(label.content)]")
    }
}

// iOS 15, macOS 12, tvOS 15, watchOS 8.
public struct ButtonRole: Equatable, Sendable {
    public static let destructive = ButtonRole()
}

extension Button where Label == Text {
    nonisolated public init<S>(_ title: S, action: @escaping @MainActor () -> Void) where S: StringProtocol {
        (label, self.action) = (Text(title), action)
    }

    // iOS 15, macOS 12, tvOS 15, watchOS 8.
    nonisolated public init<S>(
        _ title: S, role: ButtonRole?, action: @escaping @MainActor () -> Void
    ) where S: StringProtocol {
        self.init(title, action: action)
    }
}

public struct Toggle<Label: View>: View, Rendered {
    public typealias Body = Never
    let title: String
    nonisolated(unsafe) let isOn: Binding<Bool>

    func render(_ renderer: Renderer) {
        renderer.add(.toggle(isOn), title)
        renderer.add(line: "\(isOn.wrappedValue ? "☑" : "☐") \(title)")
    }
}

extension Toggle where Label == Text {
    nonisolated public init<S>(_ title: S, isOn: Binding<Bool>) where S: StringProtocol {
        (self.title, self.isOn) = (String(title), isOn)
    }
}

public struct TextField<Label: View>: View, Rendered {
    public typealias Body = Never
    let title: String
    nonisolated(unsafe) let text: Binding<String>

    func render(_ renderer: Renderer) {
        renderer.add(.field(text), title)
        renderer.add(line: "\(title): \(text.wrappedValue)")
    }
}

extension TextField where Label == Text {
    nonisolated public init<S>(_ title: S, text: Binding<String>) where S: StringProtocol {
        (self.title, self.text) = (String(title), text)
    }
}

public struct Picker<Label: View, SelectionValue: Hashable, Content: View>: View, Rendered {
    public typealias Body = Never
    let title: String
    nonisolated(unsafe) let selection: Binding<SelectionValue>
    nonisolated(unsafe) let content: Content

    func render(_ renderer: Renderer) {
        let outer = renderer.choices
        renderer.choices = []
        _ = renderer.capture { renderer.add(content, "choices") }
        let choices = renderer.choices.map { choice in
            Control.Choice(title: choice.title, tag: choice.tag) {
                // A tag of another type than the selection's chooses nothing, as in SwiftUI.
                if let value = choice.tag.base as? SelectionValue { selection.wrappedValue = value }
            }
        }
        renderer.choices = outer
        let chosen = choices.first { $0.tag == AnyHashable(selection.wrappedValue) }
        renderer.add(.picker(choices), title)
        renderer.add(line: "\(title): \(chosen?.title ?? "")")
    }
}

extension Picker where Label == Text {
    nonisolated public init<S>(
        _ title: S, selection: Binding<SelectionValue>, @ViewBuilder content: () -> Content
    ) where S: StringProtocol {
        (self.title, self.selection, self.content) = (String(title), selection, content())
    }
}

public struct NavigationLink<Label: View, Destination: View>: View, Rendered {
    public typealias Body = Never
    nonisolated(unsafe) let destination: Destination
    nonisolated(unsafe) let label: Label

    nonisolated public init(@ViewBuilder destination: () -> Destination, @ViewBuilder label: () -> Label) {
        (self.destination, self.label) = (destination(), label())
    }

    func render(_ renderer: Renderer) {
        let lines = renderer.capture { renderer.add(label, "label") }
        for line in lines { renderer.add(line: line + (line == lines.first ? " ›" : "")) }
        renderer.link(lines.first ?? "") { renderer.add(destination, "destination") }
    }
}

// MARK: Styles

public struct HorizontalAlignment: Sendable {
    public static let leading = HorizontalAlignment()
}

public struct Alignment: Sendable {
    public static let center = Alignment()
    public static let topLeading = Alignment()
}

public struct Color: Hashable, Sendable {
    public static let secondary = Color()
    public static let red = Color()
    public static let orange = Color()
    public static let yellow = Color()
    public static let green = Color()
    public static let blue = Color()
    public static let purple = Color()
    public static let pink = Color()
    public static let gray = Color()
}

public struct Font: Hashable, Sendable {
    public enum TextStyle: Sendable {
        case footnote
    }

    public enum Design: Hashable, Sendable {
        case `default`
        case monospaced
    }

    public static let caption = Font()
    public static func system(_ style: Font.TextStyle, design: Font.Design = .default) -> Font { Font() }
}

// iOS 15, macOS 12; unavailable on tvOS and watchOS.
public protocol TextSelectability {
    static var allowsSelection: Bool { get }
}

public struct EnabledTextSelectability: TextSelectability {
    public static let allowsSelection = true
}

extension TextSelectability where Self == EnabledTextSelectability {
    public static var enabled: EnabledTextSelectability { EnabledTextSelectability() }
}

// iOS 15, macOS 12, tvOS 15, watchOS 8.
public struct SearchFieldPlacement: Sendable {
    public static let automatic = SearchFieldPlacement()
}

// MARK: Modifiers

private struct Modified<Content: View>: View, Rendered {
    typealias Body = Never
    nonisolated(unsafe) let content: Content
    nonisolated(unsafe) let modify: @MainActor (_ renderer: Renderer, _ content: () -> Void) -> Void

    nonisolated init(_ content: Content, _ modify: @escaping @MainActor (Renderer, () -> Void) -> Void) {
        (self.content, self.modify) = (content, modify)
    }

    func render(_ renderer: Renderer) { modify(renderer) { renderer.add(content, "content") } }
}

extension View {
    // Those that draw.
    nonisolated public func opacity(_ opacity: Double) -> some View { self }
    nonisolated public func font(_ font: Font?) -> some View { self }
    nonisolated public func foregroundColor(_ color: Color?) -> some View { self }
    nonisolated public func frame(width: CGFloat? = nil, height: CGFloat? = nil) -> some View { self }
    nonisolated public func offset(x: CGFloat = 0, y: CGFloat = 0) -> some View { self }

    // iOS 15, macOS 12; unavailable on tvOS and watchOS.
    nonisolated public func textSelection<S: TextSelectability>(_ selectability: S) -> some View { self }

    nonisolated public func tag<V: Hashable>(_ tag: V) -> some View {
        Modified(self) { renderer, content in
            let lines = renderer.capture(content)
            renderer.choices.append(Control.Choice(title: lines.joined(separator: " "), tag: AnyHashable(tag)))
        }
    }

    // iOS 14, macOS 11, tvOS 14, watchOS 7.
    nonisolated public func navigationTitle<S: StringProtocol>(_ title: S) -> some View {
        Modified(self) { renderer, content in
            renderer.add(line: "# \(title)")
            content()
        }
    }

    nonisolated public func onAppear(perform action: (() -> Void)? = nil) -> some View {
        Modified(self) { renderer, content in
            renderer.node.appear = action
            content()
        }
    }

    nonisolated public func environment<V>(
        _ keyPath: WritableKeyPath<EnvironmentValues, V>, _ value: V
    ) -> some View {
        Modified(self) { renderer, content in
            let outer = renderer.environment
            renderer.environment[keyPath: keyPath] = value
            content()
            renderer.environment = outer
        }
    }

    // iOS 15, macOS 12, tvOS 15, watchOS 8, as the next three.
    nonisolated public func refreshable(
        @_inheritActorContext action: @escaping @Sendable () async -> Void
    ) -> some View {
        Modified(self) { renderer, content in
            renderer.refresh(by: action)
            content()
        }
    }

    nonisolated public func task(
        priority: TaskPriority = .userInitiated, @_inheritActorContext _ action: @escaping @Sendable () async -> Void
    ) -> some View {
        task(id: 0, priority: priority, action)
    }

    nonisolated public func task<T>(
        id value: T, priority: TaskPriority = .userInitiated,
        @_inheritActorContext _ action: @escaping @Sendable () async -> Void
    ) -> some View where T: Equatable {
        Modified(self) { renderer, content in
            renderer.node.work = Node.Work(isSame: { $0 as? T == value }, id: value, priority: priority, action: action)
            content()
        }
    }

    nonisolated public func searchable(
        text: Binding<String>, placement: SearchFieldPlacement = .automatic, prompt: Text? = nil
    ) -> some View {
        Modified(self) { renderer, content in
            renderer.add(.field(text), "search")
            content()
        }
    }

    nonisolated public func sheet<Item, Content>(
        item: Binding<Item?>, onDismiss: (() -> Void)? = nil, @ViewBuilder content: @escaping (Item) -> Content
    ) -> some View where Item: Identifiable, Content: View {
        Modified(self) { renderer, base in
            base()
            guard let value = item.wrappedValue else { return }
            renderer.push {
                item.wrappedValue = nil
                onDismiss?()
            } _: {
                renderer.add(content(value), "\(value.id)")
            }
        }
    }

    nonisolated public func sheet<Content>(
        isPresented: Binding<Bool>, onDismiss: (() -> Void)? = nil, @ViewBuilder content: @escaping () -> Content
    ) -> some View where Content: View {
        Modified(self) { renderer, base in
            base()
            guard isPresented.wrappedValue else { return }
            renderer.push {
                isPresented.wrappedValue = false
                onDismiss?()
            } _: {
                renderer.add(content(), "sheet")
            }
        }
    }

    // iOS 14, macOS 11; unavailable on tvOS and watchOS.
    nonisolated public func fileMover(
        isPresented: Binding<Bool>, file: URL?, onCompletion: @escaping (_ result: Result<URL, any Error>) -> Void
    ) -> some View {
        Modified(self) { renderer, content in
            content()
            guard isPresented.wrappedValue, let file else { return }
            renderer.add(.button { onCompletion(.success(file)) }, "Move")
            renderer.add(line: "[Move] \(file.lastPathComponent)")
        }
    }
}

// MARK: UIKit

// Where UIKit is; unavailable on watchOS.
@MainActor @preconcurrency
public protocol UIViewControllerRepresentable: View where Self.Body == Never {
    associatedtype UIViewControllerType: UIViewController
    func makeUIViewController(context: Self.Context) -> Self.UIViewControllerType
    func updateUIViewController(_ uiViewController: Self.UIViewControllerType, context: Self.Context)
    typealias Context = UIViewControllerRepresentableContext<Self>
}

extension UIViewControllerRepresentable {
    /// What the host shows of the controller.
    func makeLine() -> String {
        let controller = makeUIViewController(context: Context())
        updateUIViewController(controller, context: Context())
        return "\(controller)"
    }
}

@MainActor @preconcurrency
public struct UIViewControllerRepresentableContext<Representable: UIViewControllerRepresentable> {}

// MARK: Pictures

// iOS 16, macOS 13, tvOS 16, watchOS 9.
@MainActor
public final class ImageRenderer<Content: View>: ObservableObject {
    private let host: ViewHost

    nonisolated public let objectWillChange = ObservableObjectPublisher()
    public init(content: Content) { host = ViewHost { content } }
    public var uiImage: UIImage? { UIImage(host.text) }
    #if canImport(AppKit)
    public var nsImage: NSImage? { NSImage(host.text) }
    #endif
}
