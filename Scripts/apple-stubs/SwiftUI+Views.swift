// SPDX-License-Identifier: MIT

// Declarations for Scripts/check-apple, never compiled into anything: what the console uses of SwiftUI, after its published
// interface, isolation included. The comments tell the first version of iOS; without one it is 13.
public import Foundation
public import UIKit

// MARK: Views

extension Text {
    nonisolated public init(verbatim content: String) {}
}

extension VStack {
    nonisolated public init(alignment: HorizontalAlignment, @ViewBuilder content: () -> Content) {}
}

public struct ZStack<Content: View>: View {
    public typealias Body = Never
    nonisolated public init(alignment: Alignment = .center, @ViewBuilder content: () -> Content) {}
}

// Reduced: the axes and the indicators.
public struct ScrollView<Content: View>: View {
    public typealias Body = Never
    nonisolated public init(@ViewBuilder content: () -> Content) {}
}

public struct NavigationView<Content: View>: View {
    public typealias Body = Never
    nonisolated public init(@ViewBuilder content: () -> Content) {}
}

public struct NavigationLink<Label: View, Destination: View>: View {
    public typealias Body = Never
    nonisolated public init(@ViewBuilder destination: () -> Destination, @ViewBuilder label: () -> Label) {}
}

public struct Form<Content: View>: View {
    public typealias Body = Never
    nonisolated public init(@ViewBuilder content: () -> Content) {}
}

public struct Section<Parent, Content, Footer> {}

extension Section: View where Parent: View, Content: View, Footer: View {
    public typealias Body = Never
}

// The trailing closures for header and footer are of iOS 15, macOS 12, tvOS 15, watchOS 8.
extension Section where Parent: View, Content: View, Footer: View {
    nonisolated public init(
        @ViewBuilder content: () -> Content, @ViewBuilder header: () -> Parent, @ViewBuilder footer: () -> Footer
    ) {}
}

extension Section where Parent == EmptyView, Content: View, Footer: View {
    nonisolated public init(@ViewBuilder content: () -> Content, @ViewBuilder footer: () -> Footer) {}
}

extension Section where Parent: View, Content: View, Footer == EmptyView {
    nonisolated public init(@ViewBuilder content: () -> Content, @ViewBuilder header: () -> Parent) {}
}

extension Section where Parent == EmptyView, Content: View, Footer == EmptyView {
    nonisolated public init(@ViewBuilder content: () -> Content) {}
}

extension ForEach where Content: View {
    nonisolated public init(
        _ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content
    ) {}
}

// iOS 15, macOS 12, tvOS 15, watchOS 8.
public struct ButtonRole: Equatable, Sendable {
    public static let destructive = ButtonRole()
}

extension Button where Label == Text {
    // iOS 15, macOS 12, tvOS 15, watchOS 8.
    nonisolated public init<S>(
        _ title: S, role: ButtonRole?, action: @escaping @MainActor () -> Void
    ) where S: StringProtocol {}
}

public struct Toggle<Label: View>: View {
    public typealias Body = Never
}

extension Toggle where Label == Text {
    nonisolated public init<S>(_ title: S, isOn: Binding<Bool>) where S: StringProtocol {}
}

public struct TextField<Label: View>: View {
    public typealias Body = Never
}

extension TextField where Label == Text {
    nonisolated public init<S>(_ title: S, text: Binding<String>) where S: StringProtocol {}
}

public struct Picker<Label: View, SelectionValue: Hashable, Content: View>: View {
    public typealias Body = Never
}

extension Picker where Label == Text {
    nonisolated public init<S>(
        _ title: S, selection: Binding<SelectionValue>, @ViewBuilder content: () -> Content
    ) where S: StringProtocol {}
}

public struct GeometryProxy {
    public var size: CGSize { .zero }
}

public struct GeometryReader<Content: View>: View {
    public typealias Body = Never
    nonisolated public init(@ViewBuilder content: @escaping (GeometryProxy) -> Content) {}
}

public struct Rectangle: View {
    public typealias Body = Never
    nonisolated public init() {}
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

extension View {
    nonisolated public func font(_ font: Font?) -> some View { EmptyView() }
    nonisolated public func foregroundColor(_ color: Color?) -> some View { EmptyView() }
    nonisolated public func frame(width: CGFloat? = nil, height: CGFloat? = nil) -> some View { EmptyView() }
    nonisolated public func offset(x: CGFloat = 0, y: CGFloat = 0) -> some View { EmptyView() }
    nonisolated public func tag<V: Hashable>(_ tag: V) -> some View { EmptyView() }

    // iOS 14, macOS 11, tvOS 14, watchOS 7.
    nonisolated public func navigationTitle<S: StringProtocol>(_ title: S) -> some View { EmptyView() }

    // iOS 15, macOS 12; unavailable on tvOS and watchOS.
    nonisolated public func textSelection<S: TextSelectability>(_ selectability: S) -> some View { EmptyView() }

    // iOS 15, macOS 12, tvOS 15, watchOS 8.
    nonisolated public func searchable(
        text: Binding<String>, placement: SearchFieldPlacement = .automatic, prompt: Text? = nil
    ) -> some View {
        EmptyView()
    }

    // iOS 15, macOS 12, tvOS 15, watchOS 8.
    nonisolated public func task(
        priority: TaskPriority = .userInitiated, @_inheritActorContext _ action: @escaping @Sendable () async -> Void
    ) -> some View {
        EmptyView()
    }

    nonisolated public func sheet<Item, Content>(
        item: Binding<Item?>, onDismiss: (() -> Void)? = nil, @ViewBuilder content: @escaping (Item) -> Content
    ) -> some View where Item: Identifiable, Content: View {
        EmptyView()
    }

    nonisolated public func sheet<Content>(
        isPresented: Binding<Bool>, onDismiss: (() -> Void)? = nil, @ViewBuilder content: @escaping () -> Content
    ) -> some View where Content: View {
        EmptyView()
    }

    // iOS 14, macOS 11; unavailable on tvOS and watchOS.
    nonisolated public func fileMover(
        isPresented: Binding<Bool>, file: URL?, onCompletion: @escaping (_ result: Result<URL, any Error>) -> Void
    ) -> some View {
        EmptyView()
    }
}

// MARK: Data

@propertyWrapper
public struct State<Value>: DynamicProperty {
    public init(wrappedValue value: Value) {}
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { fatalError() }
}

extension State where Value: ExpressibleByNilLiteral {
    public init() {}
}

@propertyWrapper @dynamicMemberLookup
public struct Binding<Value> {
    @preconcurrency
    public init(
        get: @escaping @isolated(any) @Sendable () -> Value, set: @escaping @isolated(any) @Sendable (Value) -> Void
    ) {}
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { self }
    public subscript<Subject>(dynamicMember keyPath: WritableKeyPath<Value, Subject>) -> Binding<Subject> {
        fatalError()
    }
}

@MainActor @preconcurrency @propertyWrapper
public struct ObservedObject<ObjectType>: DynamicProperty where ObjectType: ObservableObject {
    @MainActor @preconcurrency @dynamicMemberLookup
    public struct Wrapper {
        public subscript<Subject>(
            dynamicMember keyPath: ReferenceWritableKeyPath<ObjectType, Subject>
        ) -> Binding<Subject> {
            fatalError()
        }
    }

    public init(wrappedValue: ObjectType) {}
    public var wrappedValue: ObjectType { fatalError() }
    public var projectedValue: Wrapper { fatalError() }
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

@MainActor @preconcurrency
public struct UIViewControllerRepresentableContext<Representable: UIViewControllerRepresentable> {}
