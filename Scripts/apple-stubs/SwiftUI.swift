// SPDX-License-Identifier: MIT

// What the sources, snippets and written programs use of SwiftUI, after its published interface, isolation included. The
// comments tell the first version of iOS; without one it is 13. Scripts/check-apple type-checks against it, and
// IntegrationTests/apple runs it: `ViewHost` in SwiftUI+Host.swift updates a view. No pixel is drawn.
@_exported public import Combine

@MainActor @preconcurrency
public protocol View {
    associatedtype Body: View
    @ViewBuilder @MainActor @preconcurrency var body: Self.Body { get }
}

extension Never: View {
    public var body: Never { fatalError() }
}

// Of views that have no body of their own.
extension View where Body == Never {
    public var body: Never { fatalError("\(Self.self) has no body") }
}

@resultBuilder
public struct ViewBuilder {
    public static func buildExpression<Content>(_ content: Content) -> Content where Content: View { content }
    public static func buildBlock() -> EmptyView { EmptyView() }
    public static func buildBlock<Content>(_ content: Content) -> Content where Content: View { content }
    public static func buildBlock<each Content>(_ content: repeat each Content) -> TupleView<(repeat each Content)>
    where repeat each Content: View {
        TupleView((repeat each content))
    }
    public static func buildIf<Content>(_ content: Content?) -> Content? where Content: View { content }
    public static func buildEither<TrueContent, FalseContent>(
        first: TrueContent
    ) -> _ConditionalContent<TrueContent, FalseContent> where TrueContent: View, FalseContent: View {
        _ConditionalContent(choice: .first(first))
    }
    public static func buildEither<TrueContent, FalseContent>(
        second: FalseContent
    ) -> _ConditionalContent<TrueContent, FalseContent> where TrueContent: View, FalseContent: View {
        _ConditionalContent(choice: .second(second))
    }
}

public struct EmptyView: View, Rendered {
    public typealias Body = Never
    nonisolated public init() {}
    func render(_ renderer: Renderer) {}
}

public struct TupleView<T>: View, Rendered {
    public typealias Body = Never
    nonisolated(unsafe) private let value: T

    nonisolated public init(_ value: T) { self.value = value }

    func render(_ renderer: Renderer) {
        for (index, child) in Mirror(reflecting: value).children.enumerated() {
            if let view = child.value as? any View { renderer.add(view, "\(index)") }
        }
    }
}

public struct _ConditionalContent<TrueContent, FalseContent> {
    enum Choice {
        case first(TrueContent)
        case second(FalseContent)
    }

    let choice: Choice

    nonisolated init(choice: Choice) { self.choice = choice }
}

extension _ConditionalContent: View, Rendered where TrueContent: View, FalseContent: View {
    public typealias Body = Never

    func render(_ renderer: Renderer) {
        switch choice {
        case .first(let view): renderer.add(view, "first")
        case .second(let view): renderer.add(view, "second")
        }
    }
}

extension Optional: View, Rendered where Wrapped: View {
    public typealias Body = Never

    func render(_ renderer: Renderer) {
        if let self { renderer.add(self, "some") }
    }
}

// MARK: Data

// Not isolated: a wrapper that is isolated conforms with `@preconcurrency`.
public protocol DynamicProperty {
    mutating func update()
}

extension DynamicProperty {
    public mutating func update() {}
}

/// A property that the host connects with the view's node before it evaluates the body.
@MainActor
protocol Connected {
    func connect(to slot: Slot, of renderer: Renderer)
}

/// What copies of a property share.
final class Box<Value>: @unchecked Sendable {
    var value: Value?
    weak var slot: Slot?
}

// iOS 14.
@MainActor @preconcurrency @propertyWrapper
public struct StateObject<ObjectType>: DynamicProperty, Connected where ObjectType: ObservableObject {
    private let box = Box<ObjectType>()
    nonisolated(unsafe) private let thunk: () -> ObjectType

    nonisolated public init(wrappedValue thunk: @autoclosure @escaping () -> ObjectType) { self.thunk = thunk }

    public var wrappedValue: ObjectType {
        guard let object = box.value else { fatalError("a StateObject is read before its view is shown") }
        return object
    }
    public var projectedValue: ObservedObject<ObjectType>.Wrapper { .init(object: wrappedValue) }

    func connect(to slot: Slot, of renderer: Renderer) {
        let object = slot.value as? ObjectType ?? thunk()
        box.value = object
        slot.observe(object, for: renderer.host)
    }
}

@MainActor @preconcurrency @propertyWrapper
public struct ObservedObject<ObjectType>: DynamicProperty, Connected where ObjectType: ObservableObject {
    @MainActor @preconcurrency @dynamicMemberLookup
    public struct Wrapper {
        let object: ObjectType

        public subscript<Subject>(
            dynamicMember keyPath: ReferenceWritableKeyPath<ObjectType, Subject>
        ) -> Binding<Subject> {
            Binding(read: { [object] in object[keyPath: keyPath] }, write: { [object] in object[keyPath: keyPath] = $0 })
        }
    }

    public let wrappedValue: ObjectType
    public init(wrappedValue: ObjectType) { self.wrappedValue = wrappedValue }
    public var projectedValue: Wrapper { Wrapper(object: wrappedValue) }

    func connect(to slot: Slot, of renderer: Renderer) { slot.observe(wrappedValue, for: renderer.host) }
}

@propertyWrapper
public struct State<Value>: DynamicProperty, Connected {
    private let box = Box<Value>()

    public init(wrappedValue value: Value) { box.value = value }

    public var wrappedValue: Value {
        get { stored.value! }
        nonmutating set {
            stored.value = newValue
            if let host = box.slot?.host { MainActor.assumeIsolated { host.change("state") } }
        }
    }
    public var projectedValue: Binding<Value> {
        Binding(read: { wrappedValue }, write: { wrappedValue = $0 })
    }

    /// The box of the first of the copies that were shown at this place.
    private var stored: Box<Value> { box.slot?.value as? Box<Value> ?? box }

    func connect(to slot: Slot, of renderer: Renderer) {
        if slot.value == nil { (slot.value, slot.host) = (box, renderer.host) }
        box.slot = slot
    }
}

extension State where Value: ExpressibleByNilLiteral {
    public init() { self.init(wrappedValue: nil) }
}

// Reduced: the initializers.
@propertyWrapper @dynamicMemberLookup
public struct Binding<Value> {
    let read: () -> Value
    let write: (Value) -> Void

    public var wrappedValue: Value {
        get { read() }
        nonmutating set { write(newValue) }
    }
    public var projectedValue: Binding<Value> { self }
    public subscript<Subject>(dynamicMember keyPath: WritableKeyPath<Value, Subject>) -> Binding<Subject> {
        Binding<Subject>(
            read: { read()[keyPath: keyPath] },
            write: {
                var value = read()
                value[keyPath: keyPath] = $0
                write(value)
            })
    }
}

@propertyWrapper
public struct Environment<Value>: DynamicProperty, Connected {
    private let box = Box<EnvironmentValues>()
    private let keyPath: KeyPath<EnvironmentValues, Value>

    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) { self.keyPath = keyPath }
    public var wrappedValue: Value { (box.value ?? EnvironmentValues())[keyPath: keyPath] }

    func connect(to slot: Slot, of renderer: Renderer) { box.value = renderer.environment }
}

public protocol EnvironmentKey {
    associatedtype Value
    static var defaultValue: Self.Value { get }
}

public struct EnvironmentValues {
    private var values: [ObjectIdentifier: Any] = [:]

    public init() {}
    public subscript<K>(key: K.Type) -> K.Value where K: EnvironmentKey {
        get { values[ObjectIdentifier(key)] as? K.Value ?? key.defaultValue }
        set { values[ObjectIdentifier(key)] = newValue }
    }
}

@MainActor @preconcurrency
public protocol PreviewProvider {
    associatedtype Previews: View
    @ViewBuilder static var previews: Self.Previews { get }
}
