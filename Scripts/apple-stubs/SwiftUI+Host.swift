// SPDX-License-Identifier: MIT

// Not of SwiftUI: what runs its stand-in.
import Dispatch

/// Shows a view as a list of lines, and updates it as SwiftUI does: a body is evaluated again after a change of what it
/// observes, state lives as long as its view is in the tree, and a view that is covered or has gone loses its tasks.
///
/// All bodies are evaluated in an update, not only those that depend on the change. `update()` of a dynamic property gets
/// a copy: what it writes to its own stored properties is lost.
@MainActor
public final class ViewHost {
    private nonisolated static let isMain = DispatchSpecificKey<Bool>()

    private let root: any View
    private var nodes: [String: Node] = [:]
    private var screens: [Screen] = []
    private var opened: [String] = []
    private var isUpdating = false
    private var isStale = true
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var visibleRows: Int
    /// What SwiftUI reports at run time: changes during an update, and changes off the main thread.
    public private(set) var faults: [String] = []
    /// The number of updates so far.
    public private(set) var updates = 0

    /// - Parameter rows: the lines that are visible; a list evaluates no row below them.
    public init(rows: Int = 100, @ViewBuilder _ view: () -> some View) {
        root = view()
        visibleRows = rows
        DispatchQueue.main.setSpecific(key: Self.isMain, value: true)
    }

    /// The lines of the screen in front.
    public var lines: [String] {
        updateIfNeeded()
        return screens.last?.lines ?? []
    }

    public var text: String { lines.joined(separator: "\n") }

    /// Waits until the lines fulfil a condition, and returns them.
    @discardableResult
    public func lines(where condition: ([String]) -> Bool) async -> [String] {
        while !condition(lines) { await change() }
        return lines
    }

    /// Waits until a line contains the text.
    public func shows(_ text: String) async { await lines { $0.contains { $0.contains(text) } } }

    /// Waits for the next change.
    public func change() async {
        await withCheckedContinuation { waiting.append($0) }
    }

    // MARK: What a user does

    public func tap(_ title: String) { control(title) { if case .button(let action) = $0 { action } else { nil } }() }

    public func toggle(_ title: String) {
        let binding = control(title) { if case .toggle(let isOn) = $0 { isOn } else { nil } }
        binding.wrappedValue.toggle()
    }

    public func type(_ text: String, into title: String) {
        control(title) { if case .field(let field) = $0 { field } else { nil } }.wrappedValue = text
    }

    /// Types into the search field.
    public func search(_ text: String) { type(text, into: "search") }

    public func pick(_ option: String, in title: String) {
        let options = control(title) { if case .picker(let options) = $0 { options } else { nil } }
        guard let choose = options.first(where: { $0.title == option })?.choose else {
            fatalError("\(title) has no \(option): \(options.map(\.title))")
        }
        choose()
    }

    /// Follows the link whose label begins with the text.
    public func open(_ label: String) {
        opened.append(control(label) { if case .link(let path) = $0 { path } else { nil } })
        change("navigation")
    }

    /// Leaves the screen in front.
    public func back() {
        updateIfNeeded()
        if let dismiss = screens.last?.dismiss {
            dismiss()
        } else if opened.popLast() == nil {
            fatalError("there is no screen to leave:\n\(text)")
        }
        change("navigation")
    }

    public func scroll(by rows: Int) {
        visibleRows += rows
        change("scrolling")
    }

    /// Pulls the list down: runs its action to the end.
    public func refresh() async {
        updateIfNeeded()
        guard let action = screens.last?.refresh else { fatalError("nothing is refreshable:\n\(text)") }
        await action()
    }

    /// Removes the view: its tasks are cancelled, and its state is gone.
    public func remove() {
        for node in nodes.values { node.end() }
        (nodes, screens, isStale) = ([:], [], false)
    }

    private func control<Found>(_ title: String, _ find: (Control) -> Found?) -> Found {
        updateIfNeeded()
        for (name, control) in screens.last?.controls ?? [] where name.hasPrefix(title) {
            if let found = find(control) { return found }
        }
        fatalError("there is no such control: \(title) in\n\(text)")
    }

    // MARK: Updates

    /// Called before or after what a view shows changes.
    func change(_ what: String) {
        if isUpdating { faults.append("a change of \(what) during a view update") }
        isStale = true
        let resumed = waiting
        waiting = []
        for continuation in resumed { continuation.resume() }
    }

    nonisolated func objectWillChange(_ type: Any.Type) {
        // Not `Thread.isMainThread`: on Linux, other threads run the main queue.
        guard DispatchQueue.getSpecific(key: Self.isMain) == true else {
            Task { @MainActor in self.faults.append("\(type) changes on another thread") }
            return
        }
        MainActor.assumeIsolated { change("\(type)") }
    }

    private func updateIfNeeded() {
        while isStale {
            isStale = false
            updates += 1
            isUpdating = true
            let renderer = Renderer(self, nodes, opened, rows: visibleRows)
            renderer.add(root, "root")
            isUpdating = false
            for (path, node) in nodes where renderer.nodes[path] == nil { node.end() }
            (nodes, screens) = (renderer.nodes, renderer.screens)
            // A screen that is covered by another has disappeared; below a sheet it has not.
            let front = screens.lastIndex { $0.dismiss == nil } ?? 0
            for node in nodes.values { node.settle(isVisible: node.screen >= front) }
        }
    }
}

enum Control {
    case button(() -> Void)
    case toggle(Binding<Bool>)
    case field(Binding<String>)
    case picker([Choice])
    case link(path: String)

    struct Choice {
        let title: String
        let tag: AnyHashable
        var choose: () -> Void = {}
    }
}

struct Screen {
    var lines: [String] = []
    var controls: [(String, Control)] = []
    var refresh: (@Sendable () async -> Void)?
    /// Of a sheet.
    var dismiss: (() -> Void)?
}

/// The storage of a property.
final class Slot: @unchecked Sendable {
    var value: Any?
    weak var host: ViewHost?
    private var subscription: AnyCancellable?

    @MainActor
    func observe<Object: ObservableObject>(_ object: Object, for host: ViewHost) {
        if subscription != nil, value as? Object === object { return }
        value = object
        subscription = object.objectWillChange.sink(receiveCompletion: { _ in }) { [weak host] _ in
            host?.objectWillChange(Object.self)
        }
    }
}

/// A view in the tree, over its updates.
@MainActor
final class Node {
    struct Work {
        var isSame: (Any) -> Bool
        var id: Any
        var priority: TaskPriority
        var action: @Sendable () async -> Void
    }

    var screen = 0
    var work: Work?
    var appear: (() -> Void)?
    private var slots: [String: Slot] = [:]
    private var running: (id: Any, task: Task<Void, Never>)?
    private var hasAppeared = false

    func slot(_ name: String) -> Slot {
        let slot = slots[name] ?? Slot()
        slots[name] = slot
        return slot
    }

    /// Starts and ends what belongs to the view's being visible.
    func settle(isVisible: Bool) {
        guard isVisible else { return end() }
        if !hasAppeared { appear?() }
        hasAppeared = true
        guard let work else { return }
        if let running, work.isSame(running.id) { return }
        running?.task.cancel()
        running = (work.id, Task(priority: work.priority) { await work.action() })
    }

    func end() {
        running?.task.cancel()
        (running, hasAppeared) = (nil, false)
    }
}

/// A view that the renderer knows.
@MainActor
protocol Rendered {
    func render(_ renderer: Renderer)
}

/// One update of the tree.
@MainActor
final class Renderer {
    let host: ViewHost
    var environment = EnvironmentValues()
    /// The nodes of this update, by their place in the tree.
    private(set) var nodes: [String: Node] = [:]
    private(set) var screens = [Screen()]
    /// The choices of the picker around.
    var choices: [Control.Choice] = []
    private let earlier: [String: Node]
    private let opened: [String]
    private let rows: Int
    private var path = ""
    private var screen = 0
    private var isList = false

    init(_ host: ViewHost, _ earlier: [String: Node], _ opened: [String], rows: Int) {
        (self.host, self.earlier, self.opened, self.rows) = (host, earlier, opened, rows)
    }

    /// The node of the view that is being added.
    var node: Node {
        let node = nodes[path] ?? earlier[path] ?? Node()
        node.screen = screen
        nodes[path] = node
        return node
    }

    func add<Content: View>(_ view: Content, _ key: String) {
        guard !isList || screens[screen].lines.count < rows else { return }
        let outer = path
        path += "/\(key):\(Content.self)"
        defer { path = outer }
        if let rendered = view as? any Rendered {
            rendered.render(self)
        } else if let controller = view as? any UIViewControllerRepresentable {
            add(line: controller.makeLine())
        } else {
            connect(view, "", node)
            add(view.body, "body")
        }
    }

    /// Connects the dynamic properties of a view, those within others first.
    private func connect(_ value: Any, _ prefix: String, _ node: Node) {
        for child in Mirror(reflecting: value).children {
            guard var property = child.value as? any DynamicProperty else { continue }
            let name = "\(prefix).\(child.label ?? "")"
            if let connected = property as? any Connected {
                connected.connect(to: node.slot(name), of: self)
            } else {
                connect(property, name, node)
            }
            property.update()
        }
    }

    func add(line: String) { screens[screen].lines.append(line) }

    func add(_ control: Control, _ title: String) { screens[screen].controls.append((title, control)) }

    func refresh(by action: @escaping @Sendable () async -> Void) { screens[screen].refresh = action }

    /// A list, whose rows are evaluated as far as they are visible.
    func list(_ content: () -> Void) {
        let outer = isList
        isList = true
        content()
        isList = outer
    }

    /// The lines of the content, which are not shown.
    func capture(_ content: () -> Void) -> [String] {
        let count = screens[screen].lines.count
        content()
        defer { screens[screen].lines.removeSubrange(count...) }
        return Array(screens[screen].lines[count...])
    }

    func link(_ label: String, _ destination: () -> Void) {
        add(.link(path: path), label)
        if opened.contains(path) { push(dismiss: nil, destination) }
    }

    /// Another screen, in front of those so far.
    func push(dismiss: (() -> Void)?, _ content: () -> Void) {
        let (outer, outerList) = (screen, isList)
        screens.append(Screen(dismiss: dismiss))
        (screen, isList) = (screens.count - 1, false)
        content()
        (screen, isList) = (outer, outerList)
    }
}
